/**
 * @module Checks of subject keys: which keys encrypt events, and which were destroyed by a recorded erasure (LIFE-10). Any other missing key was removed
 * outside the ledger.
 */
import type { RecordBytes } from '../../schemas/header.ts'
import { isJsonObject, type Json, parseJsonOrUndefined } from '../../schemas/json.ts'
import type { VerifyFault } from './fault.ts'

const ENCRYPTED = '"$enc":'
const ENCRYPTED_BYTES = Buffer.from(ENCRYPTED)
const LISTED_MAX = 100

/** Whether an event concerns subject keys. */
export function bearsOnErasure(
  type: string,
  record: { readonly data: string; readonly bytes?: RecordBytes | undefined },
): boolean {
  if (type === 'SubjectErased' || type === 'ErasureRequested') return true
  const { bytes } = record
  if (bytes === undefined) return record.data.includes(ENCRYPTED)
  return bytes.block.subarray(bytes.data, bytes.dataEnd).includes(ENCRYPTED_BYTES)
}

export class ErasureChecks {
  /** Number of events in which something is encrypted, by key. */
  readonly #events = new Map<string, { readonly id: string; events: number }>()
  readonly #requested = new Set<string>()
  readonly #erased = new Map<string, string>()

  /** Takes an event whose seal is valid. A tenant's erasure says nothing about the keys of another tenant. */
  take({ type, tenant }: { readonly type: string; readonly tenant: string }, text: string): void {
    const data = parseJsonOrUndefined(text)
    if (!isJsonObject(data)) return
    const own = (id: string): string => `${tenant}\n${id}`
    if (type === 'ErasureRequested') for (const id of textsIn(data.keyIds)) this.#requested.add(own(id))
    else if (type === 'SubjectErased') for (const id of textsIn(data.keyIds)) this.#erased.set(own(id), id)
    else
      for (const id of keysOf(data.redacted)) {
        const known = this.#events.get(own(id))
        if (known === undefined) this.#events.set(own(id), { id, events: 1 })
        else known.events += 1
      }
  }

  /** `exists` is absent if the key file is not next to the store. */
  finish(exists: ((id: string) => boolean) | undefined): {
    readonly erased: number
    readonly faults: readonly VerifyFault[]
    readonly unchecked: readonly string[]
  } {
    const faults: VerifyFault[] = []
    let [erased, unread] = [0, 0]
    for (const [own, { id, events }] of this.#events) {
      if (this.#erased.has(own)) erased += events
      else if (exists === undefined) unread += events
      else if (!exists(id)) faults.push(this.#requested.has(own) ? unfinished(id, events) : unrecorded(id, events))
    }
    if (exists !== undefined) for (const id of this.#erased.values()) if (exists(id)) faults.push(undone(id))
    const what = `whether the keys of ${unread} events in which something is encrypted exist: subjects.db is not beside the store (put it back there; without it they cannot be read)`
    return { erased, faults: faults.slice(0, LISTED_MAX), unchecked: unread === 0 ? [] : [what] }
  }
}

function unrecorded(id: string, events: number): VerifyFault {
  const message = `the key ${id}, under which something of ${events} events is encrypted, is not in subjects.db, and no recorded erasure names it: put back the newest copy of subjects.db that holds it`
  return { code: 'erasure-unrecorded', message }
}

function unfinished(id: string, events: number): VerifyFault {
  const message = `the erasure of the key ${id}, under which something of ${events} events is encrypted, was requested and the key is gone, which is not recorded yet: start the ledger once, which ends it`
  return { code: 'erasure-unfinished', message }
}

function undone(id: string): VerifyFault {
  const message = `the erasure of the key ${id} is recorded, and the key is there: start the ledger once, which destroys it again`
  return { code: 'erasure-undone', message }
}

function keysOf(redacted: Json | undefined): string[] {
  const kept = isJsonObject(redacted) ? redacted.kept : undefined
  return Array.isArray(kept) ? textsIn(kept.map((each) => (isJsonObject(each) ? (each.key ?? null) : null))) : []
}

function textsIn(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : []
}
