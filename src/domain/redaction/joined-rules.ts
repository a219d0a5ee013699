/** @module Joins two lists of redaction rules. */
import type { RedactionInForce } from '../../../schemas/redaction.ts'

/** Returns each rule once, those of `first` first. */
export function joinedRules(
  first: RedactionInForce | undefined,
  second: RedactionInForce | undefined,
): RedactionInForce {
  const byText = new Map<string, RedactionInForce[number]>()
  for (const rule of [...(first ?? []), ...(second ?? [])]) byText.set(JSON.stringify(rule), rule)
  return [...byText.values()]
}
