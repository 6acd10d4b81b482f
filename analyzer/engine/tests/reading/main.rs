//! Reading of runs: whole, damaged, unfinished; SQL over them.

mod catalog;
mod damage;
mod direct;
mod every_byte;
mod exported;
mod journal;
mod ranks;
mod recorded;
mod sample;
mod seeded_damage;
mod sql;
mod unfinished;
mod unknown;
mod whole;
mod writer;
