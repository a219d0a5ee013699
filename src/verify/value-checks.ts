/**
 * @module Comparison of the large values stored next to the events with the events that name them: each such event must come after the complete value, whose
 * text must have the named digest. Only the digest of a value is remembered.
 */

import { createHash, type Hash } from 'node:crypto'
import { ValueStored } from '../../schemas/events/value-stored.ts'
import { declarationOf } from '../../schemas/events.ts'
import type { Header } from '../../schemas/header.ts'
import { isJsonObject, type Json, parseJson } from '../../schemas/json.ts'

/** A value whose parts are not all read yet. */
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
  readonly #away = new Set<string>()

  /** Number of complete values. */
  get values(): number {
    return this.#sound.size
  }

  /** Number of complete values that no event names, as left by a crash between a value and its event. */
  get unnamed(): number {
    return [...this.#sound].filter((name) => !this.#named.has(name)).length
  }

  /** Number of distinct values that events name. */
  get named(): number {
    return this.#named.size
  }

  /** Number of distinct values that events name and that are not here. */
  get elsewhere(): number {
    return [...this.#named].filter((name) => !this.#sound.has(name)).length
  }

  /** Takes a part of a value whose text is in an archive that is elsewhere: nothing is known to be wrong with the value. */
  leave(stream: string): void {
    this.#away.add(valueName(stream))
  }

  /** Takes the next event in store order, whose seal was checked. */
  take(header: Header, data: string): readonly ValueFault[] {
    if (header.type === 'ValueStored') return this.#grow(header, data)
    const { large } = declarationOf(header.type) ?? {}
    if (!namesValue(large, data)) return []
    const body = parsed(data)
    return this.#check(header, isObject(body) ? body[`${large}Ref`] : undefined)
  }

  /** Marks the value of a faulty part as altered. */
  spoil(stream: string): void {
    this.#wrong.add(valueName(stream))
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
    if (this.#sound.has(name) || this.#away.has(name)) return []
    return [{ code: 'value-missing', message: `the value ${digest} that it names is not there` }]
  }
}

/** Tenant and digest of the value that is in a stream. */
function valueName(stream: string): string {
  return stream.slice('value-'.length).replace('.', ' sha256:')
}

/** Whether a body may name a value instead of containing it as the member `large`. Most bodies contain it and need not be parsed. */
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
