/** @module The built-in detectors, which search texts in time linear in their length. */
import type { RedactionDetector } from '../../../schemas/redaction.ts'
import type { Yielding } from '../yielding.ts'
import { EMAILS } from './find-addresses.ts'
import { CARDS, IBANS, PHONES, SSNS } from './find-numbers.ts'
import { JWTS, SECRETS } from './find-secrets.ts'
import { type Scanner, type Span, scanText } from './scan-text.ts'
import type { TextSteps } from './text-steps.ts'

const SCANNERS: Readonly<Record<RedactionDetector, readonly Scanner[]>> = {
  card: [CARDS],
  email: [EMAILS],
  iban: [IBANS],
  jwt: [JWTS],
  phone: [PHONES],
  secret: SECRETS,
  'us-ssn': [SSNS],
}

/** The spans found, as lists that are each in text order. */
export function* spansOf(detector: RedactionDetector, text: string, steps: TextSteps): Yielding<Span[][]> {
  const lists: Span[][] = []
  for (const scanner of SCANNERS[detector]) lists.push(yield* scanText(scanner, text, steps))
  return lists
}
