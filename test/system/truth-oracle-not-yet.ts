/**
 * @module What is known to claim more than is true, by kind of store, class of damage and kind of exit. It only gets shorter: a claim that is not in it fails the test, and so
 * does an entry that no round showed, but for those that do not show each time.
 */
import type { OracleKind } from './truth-oracle-history.ts'

interface Known {
  /** Why, in short. */
  readonly why: string
  readonly exits: readonly string[]
  /** Of these, those that do not show each time: it depends on what is drawn, or on which of two questions is first. */
  readonly sometimes?: readonly string[]
}

const PUT_BACK = [
  ...['verify', 'replay', 'report', 'export', 'export of the run', 'query', 'answer', 'read', 'bundle'],
  ...['bundle of the run', 'answer bundle', 'proof', 'checkpoint', 'page', 'readyz', 'integrity', 'write'],
]

/** By kind of store. */
export const NOT_YET: Readonly<Record<OracleKind, Readonly<Record<string, Known>>>> = {
  sqlite: {},
  postgres: {},
  eventstoredb: {
    'last event deleted, signed, put back': {
      why: 'nothing knew the event while it was gone (STR-53), and what follows the store does not look for events before the last one that it read',
      ...{ exits: PUT_BACK, sometimes: PUT_BACK },
    },
  },
}

/** Whether a claim is known to be more than is true, on this kind of store. */
export const isKnown = (kind: OracleKind, damage: string, exit: string): boolean =>
  NOT_YET[kind][damage]?.exits.includes(exit) === true
