/** @module Decides by name which streams of a server belong to a ledger. */

/** Prefixes of the names of all streams of a ledger. */
export const LEDGER_PREFIXES: readonly string[] = ['run-', 'ledger-', 'access-', 'value-']

export function isLedgerStream(name: string): boolean {
  return LEDGER_PREFIXES.some((prefix) => name.startsWith(prefix))
}
