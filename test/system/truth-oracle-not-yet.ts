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

/** On EventStoreDB no note of the writer says what it wrote: the end of a stream that no checkpoint covers is known to the log alone, once it followed. */
const NO_NOTES = 'there is no chain of notes on EventStoreDB yet'

const EVERY_EXIT = [
  ...['verify', 'replay', 'report', 'export', 'export of the run', 'query', 'answer', 'read', 'bundle'],
  ...['bundle of the run', 'answer bundle', 'proof', 'checkpoint', 'page', 'readyz', 'integrity', 'write'],
]

const withoutNotes = (exits: readonly string[] = EVERY_EXIT): Known => ({ why: NO_NOTES, exits, sometimes: exits })

/** By kind of store. */
export const NOT_YET: Readonly<Record<OracleKind, Readonly<Record<string, Known>>>> = {
  sqlite: {},
  postgres: {},
  eventstoredb: {
    'last event deleted, behind the checkpoint': withoutNotes(),
    'run deleted, behind the checkpoint': withoutNotes(),
    'end of the store cut': withoutNotes(),
    'middle event deleted, behind the checkpoint': {
      why: 'the index of audit does not see a gap in a stream: it answers before anything else came upon it',
      ...{ exits: ['query'], sometimes: ['query'] },
    },
    'last event deleted, signed, put back': withoutNotes(),
    'acknowledged: last event deleted, behind the checkpoint': withoutNotes(),
    'acknowledged: store rolled back': withoutNotes([
      ...['replay', 'export of the run', 'export of another run', 'read', 'bundle of the run'],
      ...['bundle of another run', 'checkpoint', 'page', 'write'],
    ]),
  },
}

/** Whether a claim is known to be more than is true, on this kind of store. */
export const isKnown = (kind: OracleKind, damage: string, exit: string): boolean =>
  NOT_YET[kind][damage]?.exits.includes(exit) === true
