/**
 * @module What a ledger says that it has lost, in whatever leaves it: an event that is gone, altered, or cannot be proven any more. A document that
 * names one is INCOMPLETE, whatever else is right with it.
 */
/** Of a document, that many are named. */
export const LOSSES_MAX = 20

export const LOSS_SCOPES = ['run', 'tenant', 'store'] as const

export interface Loss {
  /** `run`: of that run alone. `tenant`: the tenant's log stopped there, and nothing behind it is proven. `store`: it is not known whose it was. */
  readonly scope: (typeof LOSS_SCOPES)[number]
  /** The code of the fault, as `verify` names it. */
  readonly code: string
  /** Where, as far as that is known and the reader's own. */
  readonly stream?: string | undefined
  readonly revision?: number | undefined
}

/** One a place, that it is acknowledged before what else was found there, in the order that they were found in, with their members in one order; undefined where there is none. */
export function lossesMember(found: readonly Loss[]): readonly Loss[] | undefined {
  const byPlace = new Map<string, Loss>()
  for (const { scope, code, stream, revision } of found) {
    const place = `${stream} ${revision}`
    const loss = { scope, code, ...(stream !== undefined && { stream }), ...(revision !== undefined && { revision }) }
    if (!byPlace.has(place) || code === 'acknowledged') byPlace.set(place, loss)
  }
  return byPlace.size === 0 ? undefined : [...byPlace.values()].slice(0, LOSSES_MAX)
}

/** In words. */
export function lossText({ scope, code, stream, revision }: Loss): string {
  if (stream === undefined) return `events of the ${scope} are gone, and nothing tells which (${code})`
  const what = revision === undefined ? stream : `${stream} @ ${revision}`
  if (code === 'acknowledged') return `${what} is lost for good (acknowledged)`
  return scope === 'tenant'
    ? `the log stopped at ${what} (${code}), and nothing behind it is proven`
    : `${what} (${code})`
}

/** In words, the first three and how many more. */
export function lossesText(losses: readonly Loss[]): string {
  const more = losses.length > 3 ? `; and ${losses.length - 3} more` : ''
  return `${losses.slice(0, 3).map(lossText).join('; ')}${more}`
}
