#!/bin/sh
# `npm run test:soak`: kills, stops and chance with the full numbers. `npm test` has one round of each kind.
# Another number, or one sequence again: RECORDS_SYNC_KILLS=100 RECORDS_SYNC_SEED=123 npm run test:soak -- test/faults/kill.test.ts
export RECORDS_SYNC_KILLS="${RECORDS_SYNC_KILLS:-30}"
export RECORDS_SYNC_STOPS="${RECORDS_SYNC_STOPS:-10}"
# Of each move with real processes.
export RECORDS_SYNC_TWIN_ROUNDS="${RECORDS_SYNC_TWIN_ROUNDS:-3}"
export RECORDS_SYNC_SERVICE_KILLS="${RECORDS_SYNC_SERVICE_KILLS:-100}"
export RECORDS_SYNC_ROUNDS="${RECORDS_SYNC_ROUNDS:-50}"
# Seconds of the pacer at a limit of 6,000; without it, half of that limit and fewer incidents.
export RECORDS_SYNC_SIMULATED_S="${RECORDS_SYNC_SIMULATED_S:-180}"
# Rules that are broken together in a run of the conformance kit.
export RECORDS_SYNC_BREAKAGES="${RECORDS_SYNC_BREAKAGES:-1}"
# Sequences of merges and deletions, and of rows of any values.
export RECORDS_SYNC_SEQUENCES="${RECORDS_SYNC_SEQUENCES:-50}"
# Properties with all their cases.
export RECORDS_SYNC_FULL_RUNS="${RECORDS_SYNC_FULL_RUNS:-1}"
# Histories of the oracles and the simulator, and all planted bugs that have a plan.
export RECORDS_SYNC_HISTORIES="${RECORDS_SYNC_HISTORIES:-500}"
export RECORDS_SYNC_PLANTED="${RECORDS_SYNC_PLANTED:-all}"
if [ $# -eq 0 ]; then
  set -- test/faults/kill.test.ts test/faults/kill-all.test.ts test/faults/mirror-kill.test.ts test/faults/service-kill.test.ts \
    test/faults/stand-still.test.ts test/faults/workers.test.ts test/twin/twin.test.ts test/other-service/random.test.ts \
    test/other-service/oracle.test.ts test/other-service/two-writers.test.ts test/simulation/simulation.test.ts \
    test/unit/client/pacing-simulation.slow.test.ts test/unit/conform/broken.slow.test.ts \
    test/suites/mirror-tables-duckdb.test.ts test/suites/mirror-tables-postgres.test.ts \
    test/suites/ledger- $(grep -rl --include='*.test.ts' "/runs.ts'" test/unit)
fi
exec npx vitest run --project system --project slow --project unit "$@"
