/** @module Finds the encrypted values of a subject in the runs in which its keys were used. */
import type { SubjectAnswer } from '../../../schemas/answers/subjects.ts'
import { isJsonObject, parseJsonOrUndefined } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import type { Pace } from '../../resources/work-queue.ts'
import { readHeader } from '../../signing/header-reader.ts'
import type { EventStore } from '../../store/event-store.ts'
import { pacedPages } from '../../store/paced-pages.ts'
import type { SubjectStore } from '../../store/subject-store.ts'
import { redactedOf } from './kept-values.ts'

const ITEMS_MAX = 1_000

export interface PlacesDeps {
  readonly events: Pick<EventStore, 'readStream'>
  readonly subjects: Pick<SubjectStore, 'runsOf'>
}

/** A key whose event was never written has no places. */
export async function placesOf(
  { events, subjects }: PlacesDeps,
  { tenant, ids, pace }: { readonly tenant: string; readonly ids: readonly string[]; readonly pace?: Pace | undefined },
): Promise<Pick<SubjectAnswer, 'counts' | 'items'>> {
  const counts = { runs: 0, events: 0, values: 0 }
  const items: SubjectAnswer['items'] = []
  const wanted = new Set(ids)
  const runs = new Set(ids.flatMap((id) => subjects.runsOf(id)))
  for (const run of runs) {
    const before = counts.events
    for await (const page of pacedPages(events.readStream(runStream(tenant, run)), pace)) {
      for (const record of page) {
        const found = record.data.includes('"$enc":') ? itemsOf(run, record, wanted) : []
        counts.events += found.length === 0 ? 0 : 1
        counts.values += found.reduce((sum, { values }) => sum + values, 0)
        if (items.length < ITEMS_MAX) items.push(...found)
      }
    }
    if (counts.events > before) counts.runs += 1
  }
  return { counts, items: items.slice(0, ITEMS_MAX) }
}

function itemsOf(
  run: string,
  record: { readonly header: string; readonly data: string },
  wanted: ReadonlySet<string>,
): SubjectAnswer['items'] {
  const [read, data] = [readHeader(record.header), parseJsonOrUndefined(record.data)]
  if (!read.ok || !isJsonObject(data)) return []
  const { revision, type } = read.header
  return (redactedOf(data)?.kept ?? []).flatMap(({ key, count, at }) =>
    wanted.has(key) ? [{ run, revision, type, key, values: count, places: at }] : [],
  )
}
