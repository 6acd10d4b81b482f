//! `trueno-record run` on a program, a driver and a CUPTI that the tests bring along: what was launched is
//! what is recorded, however the program ends and whatever CUPTI does.

mod acceptance;
mod ceilings;
mod commands;
mod endings;
mod externals;
mod fakes;
mod graphs;
mod kinds;
mod memory;
mod misbehaviour;
mod nvtx;
mod real;
mod wheels;
mod whole;
