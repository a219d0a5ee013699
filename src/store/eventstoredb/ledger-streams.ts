/** @module Which streams of a server are a ledger's, as far as a name can tell. */

/** What every stream of a ledger begins with. */
export const LEDGER_PREFIXES: readonly string[] = ['run-', 'ledger-', 'access-', 'value-']

export function isLedgerStream(name: string): boolean {
  return LEDGER_PREFIXES.some((prefix) => name.startsWith(prefix))
}
