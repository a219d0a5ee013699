/** @module What is encrypted under the key of a subject, and which keys were destroyed on record (LIFE-10). A key that is gone without that is somebody's doing. */
import type { RecordBytes } from '../../schemas/header.ts'
import { isJsonObject, type Json, parseJsonOrUndefined } from '../../schemas/json.ts'
import type { VerifyFault } from './fault.ts'

const ENCRYPTED = '"$enc":'
const ENCRYPTED_BYTES = Buffer.from(ENCRYPTED)
const LISTED_MAX = 100

/** Whether an event says something of keys of subjects. */
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
  /** Events by the key that something in them is encrypted under. */
  readonly #events = new Map<string, number>()
  readonly #requested = new Set<string>()
  readonly #erased = new Set<string>()

  /** Of an event whose seal fits. */
  take(type: string, text: string): void {
    const data = parseJsonOrUndefined(text)
    if (!isJsonObject(data)) return
    if (type === 'ErasureRequested') for (const id of textsIn(data.keyIds)) this.#requested.add(id)
    else if (type === 'SubjectErased') for (const id of textsIn(data.keyIds)) this.#erased.add(id)
    else for (const id of keysOf(data.redacted)) this.#events.set(id, (this.#events.get(id) ?? 0) + 1)
  }

  /** `isThere` is absent where the file of the keys does not lie beside the store. */
  finish(isThere: ((id: string) => boolean) | undefined): {
    readonly erased: number
    readonly faults: readonly VerifyFault[]
    readonly unchecked: readonly string[]
  } {
    const faults: VerifyFault[] = []
    let [erased, unread] = [0, 0]
    for (const [id, events] of this.#events) {
      if (this.#erased.has(id)) erased += events
      else if (isThere === undefined) unread += events
      else if (!isThere(id) && !this.#requested.has(id)) faults.push(unrecorded(id, events))
    }
    if (isThere !== undefined) for (const id of this.#erased) if (isThere(id)) faults.push(undone(id))
    const what = `whether the keys of ${unread} events in which something is encrypted exist: subjects.db is not beside the store`
    return { erased, faults: faults.slice(0, LISTED_MAX), unchecked: unread === 0 ? [] : [what] }
  }
}

function unrecorded(id: string, events: number): VerifyFault {
  const message = `the key ${id}, under which something of ${events} events is encrypted, is gone, and no erasure on record names it: put back a copy of subjects.db from before`
  return { code: 'erasure-unrecorded', message }
}

function undone(id: string): VerifyFault {
  const message = `the erasure of the key ${id} is on record, and the key is there: start the ledger once, which destroys it again`
  return { code: 'erasure-undone', message }
}

function keysOf(redacted: Json | undefined): string[] {
  const kept = isJsonObject(redacted) ? redacted.kept : undefined
  return Array.isArray(kept) ? textsIn(kept.map((each) => (isJsonObject(each) ? (each.key ?? null) : null))) : []
}

function textsIn(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : []
}
