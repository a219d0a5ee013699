/** @module The large values, one part a line, under the id of the event that names each: both files are read side by side, and nothing is kept. */

import * as crypto from 'node:crypto'
import type { JsonObject } from '../../../schemas/json.ts'
import { VALUES } from './bundle-files.ts'
import { eventOf } from './event-line.ts'
import { type Bundle, jsonOf, linesOf } from './file-text.ts'
import { type Form, isCount, isOf, isText } from './forms.ts'
import type { SealedEvent } from './gathered.ts'
import { hexDigest } from './hashes.ts'
import { place, shown } from './shown-text.ts'
import { type Fail, type Found, Stop } from './verdict.ts'

export const NOT_ASKED_FOR = 'large values, which are not in this bundle (values=true, or --values, brings them along)'

interface NamedValue {
  readonly digest: string
  readonly bytes: number
  readonly kept?: boolean
}

/** A line of values.jsonl. */
interface ValuePart {
  readonly event: string
  readonly salt: string
  readonly part: number
  readonly parts: number
  readonly text: string
}

/** What an event says of a value that is kept beside it; undefined where it names none, or one of which nothing but a digest was kept. */
export function valueNamedIn({ argsRef, resultRef, inputRef, outputRef }: JsonObject): NamedValue | undefined {
  const named = (argsRef ?? resultRef ?? inputRef ?? outputRef) as NamedValue | undefined
  return typeof named !== 'object' || named === null || named.kept === false ? undefined : named
}

/** Each value is there, in the order of the events, with the digest, the salt before its text, that the sealed event names it by. */
export function checkValues(bundle: Bundle, found: Found, fail: Fail): void {
  const parts = linesOf(bundle, VALUES, fail)
  let part = partIn(parts.next())
  // What is wrong with a line of the events was said before.
  for (const line of linesOf(bundle, 'events.jsonl', () => {})) {
    const event = eventOf(line)
    const named = event && valueNamedIn(event.data)
    if (named === undefined) continue
    const { id } = (event as SealedEvent).header
    const value = { hash: crypto.createHash('sha256'), salt: part?.salt, bytes: 0, parts: 0, whole: part?.parts }
    let belongs = true
    for (; part !== undefined && part.event === id; part = partIn(parts.next())) {
      if (value.parts === 0) value.hash.update(Buffer.from(part.salt, 'base64url'))
      belongs &&= part.salt === value.salt && part.part === value.parts && part.parts === value.whole
      value.hash.update(part.text)
      value.bytes += Buffer.byteLength(part.text)
      value.parts += 1
    }
    const says = `the value ${shown(String(named.digest))} that ${place((event as SealedEvent).header)} names`
    const isWhole = belongs && value.parts === value.whole && value.bytes === named.bytes
    if (value.parts === 0) fail('INCOMPLETE', 'value-missing', `${says} is not in ${VALUES}`)
    else if (!isWhole || hexDigest(value.hash.digest()) !== named.digest)
      fail('TAMPERED', 'value-altered', `${says} is not the one in ${VALUES}`)
    else found.values += 1
  }
  if (part !== undefined) fail('TAMPERED', 'value-foreign', `${VALUES} holds what no event names, or in another order`)
}

function partIn({ value: line }: IteratorResult<string, void>): ValuePart | undefined {
  if (line === undefined) return undefined
  const said = jsonOf(line, VALUES)
  if (!isOf(PART)(said)) throw new Stop('TAMPERED', 'line', `a line of ${VALUES} is no part of a value`)
  return said as unknown as ValuePart
}

const PART: Form = {
  event: isText,
  salt: (value) => typeof value === 'string' && /^[\w-]{22}$/.test(value),
  part: isCount,
  parts: isCount,
  text: (value) => typeof value === 'string',
}
