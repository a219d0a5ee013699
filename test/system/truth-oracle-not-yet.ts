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

/** By kind of store. */
export const NOT_YET: Readonly<Record<OracleKind, Readonly<Record<string, Known>>>> = {
  sqlite: {},
  postgres: {},
  eventstoredb: {},
}

/** Whether a claim is known to be more than is true, on this kind of store. */
export const isKnown = (kind: OracleKind, damage: string, exit: string): boolean =>
  NOT_YET[kind][damage]?.exits.includes(exit) === true
