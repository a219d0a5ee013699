/**
 * @module Whether the ledgers of a suite have threads beside the one that writes the store: as users have them, or, where the long suite runs
 * suites of crashes and faults once more, none at all, or with the files that follow the store handed over before the suite begins.
 */
export const threadMode: 'default' | 'on' | 'off' = modeOf(process.env.COUNTERSIGN_TEST_THREADS)

function modeOf(word: string | undefined): 'default' | 'on' | 'off' {
  return word === 'on' || word === 'off' ? word : 'default'
}
