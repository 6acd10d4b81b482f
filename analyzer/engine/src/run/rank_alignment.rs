//! One timeline for all ranks.
//!
//! Time 0 of the whole is that of the rank that began first by the wall clock of its host
//! (`clock.origin_realtime_ns`); the times of all others are moved by how much later they began.
//! So events of two ranks compare as well as the clocks of their hosts agree.

use trueno_model::{Problem, ranks, units};

use super::ranks::Member;

/// Shifts the ranks to a common timeline and reports doubts about it.
pub(super) fn align(members: &mut [Member]) -> Vec<(Option<u32>, Problem)> {
    let origin = |member: &Member| member.run.facts().clock.origin_realtime_ns;
    let first = members.iter().filter_map(origin).min();
    let mut without = Vec::new();
    for member in members.iter_mut() {
        match (origin(member), first) {
            (Some(origin_ns), Some(first_ns)) => {
                member.offset_ns = origin_ns.saturating_sub(first_ns);
            }
            _ => without.push(member.rank),
        }
    }
    let mut problems = Vec::new();
    if !without.is_empty() && members.len() > 1 {
        let (of, verb) = (
            ranks(&without),
            if without.len() == 1 { "does" } else { "do" },
        );
        let text = format!(
            "{of} {verb} not record a start time: put at the start of the run, their times cannot be compared with \
             those of others"
        );
        problems.push((None, Problem::warning("rank_not_aligned", text)));
    }
    problems.extend(apart(members).map(|problem| (None, problem)));
    problems
}

/// If a rank began after all earlier ones had ended, they hardly belong to one job.
fn apart(members: &[Member]) -> Option<Problem> {
    let mut spans: Vec<(i64, i64, u32)> = members
        .iter()
        .filter_map(|member| {
            member.run.facts().clock.origin_realtime_ns?;
            let wall_ns = member.run.facts().wall_ns?;
            Some((
                member.offset_ns,
                member.offset_ns.saturating_add(wall_ns),
                member.rank,
            ))
        })
        .collect();
    spans.sort_unstable();
    let mut reached_ns = spans.first()?.1;
    for &(start_ns, end_ns, rank) in &spans[1..] {
        if start_ns > reached_ns {
            let text = format!(
                "by the clocks of the hosts, rank {rank} began {} after all earlier ranks had ended: \
                 either they belong to different jobs, or a clock is wrong",
                units::duration((start_ns - reached_ns) as f64)
            );
            return Some(Problem::warning("ranks_apart", text));
        }
        reached_ns = reached_ns.max(end_ns);
    }
    None
}
