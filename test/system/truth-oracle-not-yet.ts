/**
 * @module What is known to claim more than is true, by class of damage and kind of exit. It only gets shorter: a claim that is not in it fails the test, and so
 * does an entry that no round showed, but for those that do not show each time.
 */

interface Known {
  /** Why, in short. */
  readonly why: string
  readonly exits: readonly string[]
  /** Of these, those that do not show each time: it depends on what is drawn, or on which of two questions is first. */
  readonly sometimes?: readonly string[]
}

export const NOT_YET: Readonly<Record<string, Known>> = {
  'first event changed, behind the checkpoint': {
    why: "the run is taken for a stranger's stream",
    exits: ['proof'],
    sometimes: ['proof'],
  },
  'last event deleted, behind the checkpoint': {
    why: 'an end that is missing is taken for one that never was',
    exits: ['read', 'replay', 'report'],
  },
  'last event deleted, covered': {
    why: 'an end that is missing is taken for one that never was',
    exits: ['replay'],
  },
  'last event deleted, covered, derived files removed': {
    why: 'an end that is missing is taken for one that never was',
    exits: ['read', 'replay', 'report', 'write'],
  },
  'last event deleted, behind, derived files removed': {
    why: 'an end that is missing is taken for one that never was',
    exits: ['read', 'replay', 'report'],
  },
  'run deleted, behind the checkpoint': {
    why: 'an end that is missing is taken for one that never was',
    exits: ['proof', 'read', 'replay'],
    sometimes: ['proof', 'read', 'replay'],
  },
  'event doubled': {
    why: 'the log stops there, and what is behind is left out without a word',
    exits: ['read'],
  },
  'event moved to another run': {
    why: 'the end of a run is looked for in the store alone',
    exits: ['read', 'replay', 'report', 'write'],
  },
  'run renamed': {
    why: 'a stream that is gone is taken for one that never was',
    exits: ['checkpoint', 'proof', 'read', 'replay'],
    sometimes: ['checkpoint', 'proof', 'replay'],
  },
  'events swapped': {
    why: 'the log stops there, and what is behind is left out without a word',
    exits: ['read'],
  },
  'store rolled back': {
    why: 'commands read the store alone, and no kept checkpoint',
    exits: ['replay', 'report'],
  },
  'last event deleted, signed, put back': {
    why: "what was put back comes back with the log's next pass, and the list of runs keeps it out",
    exits: ['answer', 'checkpoint', 'proof', 'query', 'read', 'report'],
    sometimes: ['answer', 'checkpoint', 'proof', 'query', 'read', 'report'],
  },
  'live: body changed, behind the checkpoint': {
    why: 'the log stops there, and what is behind is left out without a word; exports pass the body on',
    exits: ['bundle of another run'],
    sometimes: ['bundle of another run'],
  },
  'live: last event deleted, behind the checkpoint': {
    why: 'an end that is missing is taken for one that never was',
    exits: ['bundle of another run', 'integrity', 'page', 'readyz'],
    sometimes: ['bundle of another run', 'integrity', 'page', 'readyz'],
  },
  'live: last event deleted, covered': {
    why: 'an end that is missing is taken for one that never was',
    exits: ['integrity', 'page', 'readyz'],
    sometimes: ['integrity', 'page', 'readyz'],
  },
  'live: run deleted': {
    why: 'an end that is missing is taken for one that never was',
    exits: ['integrity', 'page', 'readyz'],
    sometimes: ['integrity', 'page', 'readyz'],
  },
  'live: end of the store cut': {
    why: 'an end that is missing is taken for one that never was',
    exits: ['integrity'],
    sometimes: ['integrity'],
  },
  'end of the store cut': {
    why: 'an end that is missing is taken for one that never was',
    exits: [
      'answer',
      'answer bundle',
      'bundle',
      'bundle of another run',
      'bundle of the run',
      'checkpoint',
      'export',
      'export of another run',
      'export of the run',
      'integrity',
      'page',
      'proof',
      'query',
      'read',
      'readyz',
      'replay',
      'report',
      'verify',
      'write',
    ],
    sometimes: ['bundle of another run', 'export of another run', 'proof'],
  },
  'log of the store cut at a transaction': {
    why: 'an end that is missing is taken for one that never was',
    exits: [
      'answer',
      'answer bundle',
      'bundle',
      'bundle of another run',
      'bundle of the run',
      'checkpoint',
      'export',
      'export of another run',
      'export of the run',
      'integrity',
      'page',
      'proof',
      'query',
      'read',
      'readyz',
      'replay',
      'report',
      'verify',
      'write',
    ],
    sometimes: ['bundle of another run', 'export of another run', 'proof'],
  },
  'body changed, signed, put back': {
    why: 'the log is made anew at the first pass after a start, and signs again with the next',
    exits: ['checkpoint', 'proof'],
    sometimes: ['checkpoint', 'proof'],
  },
}
