/**
 * @module Large values beside the events, held against what names them: each event that names one comes after the whole of it, and its text has
 * the digest that is named. What is remembered of a value is its digest alone.
 */

import { createHash, type Hash } from 'node:crypto'
import { ValueStored } from '../../schemas/events/value-stored.ts'
import { declarationOf } from '../../schemas/events.ts'
import type { Header } from '../../schemas/header.ts'
import { isJsonObject, type Json, parseJson } from '../../schemas/json.ts'

/** A value whose parts are still coming. */
interface Growing {
  readonly hash: Hash
  next: number
  bytes: number
}

export interface ValueFault {
  readonly code: 'value-missing' | 'value-altered'
  readonly message: string
}

export class ValueChecks {
  /** By tenant and digest. */
  readonly #growing = new Map<string, Growing>()
  readonly #sound = new Set<string>()
  readonly #wrong = new Set<string>()
  readonly #named = new Set<string>()

  /** Values that are whole. */
  get values(): number {
    return this.#sound.size
  }

  /** Whole values that no event names: what a crash leaves between a value and its event. */
  get unnamed(): number {
    return [...this.#sound].filter((name) => !this.#named.has(name)).length
  }

  /** Names that were met. */
  get named(): number {
    return this.#named.size
  }

  /** The next event in the order of the store, its seal checked. */
  take(header: Header, data: string): readonly ValueFault[] {
    if (header.type === 'ValueStored') return this.#grow(header, data)
    const { large } = declarationOf(header.type) ?? {}
    if (!namesValue(large, data)) return []
    const body = parsed(data)
    return this.#check(header, isObject(body) ? body[`${large}Ref`] : undefined)
  }

  /** A part that is at fault: what it belongs to is not what was stored. */
  spoil(stream: string): void {
    const name = stream.slice('value-'.length).replace('.', ' sha256:')
    this.#wrong.add(name)
  }

  #grow({ tenant, stream }: Header, data: string): readonly ValueFault[] {
    const body = ValueStored.schema.safeParse(parsed(data))
    if (!body.success) return []
    const { digest, salt, part, parts, bytes, text } = body.data
    const name = `${tenant} ${digest}`
    if (!stream.endsWith(digest.slice(digest.indexOf(':') + 1))) {
      return [{ code: 'value-altered', message: `it holds a part of ${digest}, which is another value` }]
    }
    const value = this.#growing.get(name) ?? {
      hash: createHash('sha256').update(Buffer.from(salt, 'base64url')),
      next: 0,
      bytes: 0,
    }
    this.#growing.set(name, value)
    if (part !== value.next) return []
    value.hash.update(text)
    value.bytes += Buffer.byteLength(text)
    value.next += 1
    if (value.next < parts) return []
    this.#growing.delete(name)
    const fits = `sha256:${value.hash.digest('hex')}` === digest && value.bytes === bytes
    if (fits) this.#sound.add(name)
    else this.#wrong.add(name)
    return fits ? [] : [{ code: 'value-altered', message: `its text does not have the digest ${digest}` }]
  }

  #check({ tenant }: Header, reference: Json | undefined): readonly ValueFault[] {
    if (!isObject(reference) || reference.kept === false) return []
    const digest = String(reference.digest)
    const name = `${tenant} ${digest}`
    this.#named.add(name)
    if (this.#wrong.has(name))
      return [{ code: 'value-altered', message: `the value ${digest} that it names was altered` }]
    if (this.#sound.has(name)) return []
    return [{ code: 'value-missing', message: `the value ${digest} that it names is not there` }]
  }
}

/** Whether a body may name a value instead of having it as the member `large`. Most have theirs, and need not be read. */
export function namesValue(large: string | undefined, data: string): large is string {
  return large !== undefined && data.includes(`"${large}Ref":`)
}

function parsed(text: string): Json {
  try {
    return parseJson(text)
  } catch {
    return null
  }
}

function isObject(value: Json | undefined): value is { readonly [name: string]: Json } {
  return value !== undefined && isJsonObject(value)
}
