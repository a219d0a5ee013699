/** @module Appends on their way from a thread that seals to the one that owns the store: flat arrays, which copy faster than objects. */
import type { AppendRecord } from '../../schemas/header.ts'
import type { Append } from '../store/event-store.ts'
import { type AppendGroup, packGroup } from '../store/sqlite/writer-protocol.ts'

export interface SentAppends {
  readonly group: AppendGroup
  /** Of each record. */
  readonly ids: readonly string[]
  readonly types: readonly string[]
}

export function packAppends(id: number, appends: readonly Append[]): SentAppends {
  const records = appends.flatMap((append) => append.records)
  return { group: packGroup(id, appends), ids: records.map((each) => each.id), types: records.map((each) => each.type) }
}

export function unpackAppends({ group, ids, types }: SentAppends): readonly Append[] {
  let next = 0
  return group.streams.map((stream, index) => {
    const first = next
    next += group.counts[index] ?? 0
    const records: AppendRecord[] = []
    for (let at = first; at < next; at += 1) {
      const salt = group.salts.subarray(group.saltEnds[at - 1] ?? 0, group.saltEnds[at])
      const [id = '', type = '', header = '', data = ''] = [ids[at], types[at], group.headers[at], group.datas[at]]
      const requestId = group.requests[at] ?? undefined
      records.push({ id, type, header, salt, data, ...(requestId !== undefined && { requestId }) })
    }
    return { stream, expectedRevision: group.expected[index] ?? Number.NaN, records }
  })
}
