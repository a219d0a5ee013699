/** @module Two lists of rules as one. */
import type { RedactionInForce } from '../../../schemas/redaction.ts'

/** Each rule once, the first ones first. */
export function joinedRules(
  first: RedactionInForce | undefined,
  second: RedactionInForce | undefined,
): RedactionInForce {
  const byText = new Map<string, RedactionInForce[number]>()
  for (const rule of [...(first ?? []), ...(second ?? [])]) byText.set(JSON.stringify(rule), rule)
  return [...byText.values()]
}
