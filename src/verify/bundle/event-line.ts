/** @module A line of events.jsonl: `{"header":…,"salt":"…","data":…}`; the last line is a trailer, and where parts of streams are left out, the first says by which filter. */

import { parseJson } from '../../../schemas/json.ts'
import { type Bundle, linesOf } from './file-text.ts'
import type { Gathered, SealedEvent } from './gathered.ts'
import type { BundleQuery } from './predicate.ts'

/** What a manifest is complete for, but for the run: its members in the order that they were written in. */
export function filterOf({ run: _, ...filter }: BundleQuery): BundleQuery | undefined {
  return Object.keys(filter).length === 0 ? undefined : filter
}

export function headOf(complete: BundleQuery): string | undefined {
  const filter = filterOf(complete)
  return filter === undefined ? undefined : JSON.stringify({ filter })
}

/** Of a line: where it is no event, none of them is there, which `parseJson` throws for. */
type Parts = readonly [all: string, headerText: string, salt: string, dataText: string]

/** Cut apart as text: digests are over the very bytes that stand there. No JSON string holds the border, since its quotes are escaped. */
export function eventOf(line: string): SealedEvent | undefined {
  const [, headerText, salt, dataText] = (/^\{"header":(\{.*?\}),"salt":"([A-Za-z0-9_-]{22})","data":(\{.*\})\}$/s.exec(
    line,
  ) ?? []) as unknown as Parts
  try {
    return { headerText, dataText, salt, header: parseJson(headerText), data: parseJson(dataText) }
  } catch {
    return undefined
  }
}

/** Further passes over the events, where one cannot remember all that is needed between one event and the next. */
export function takeAgain(bundle: Bundle, counts: readonly Gathered[]): void {
  for (;;) {
    const unfinished = counts.filter((each) => each.nextPass())
    if (unfinished.length === 0) return
    // What is wrong with a line was said in the first pass.
    for (const line of linesOf(bundle, 'events.jsonl', () => {})) {
      const event = eventOf(line)
      if (event !== undefined) for (const each of unfinished) each.takeAgain(event)
    }
  }
}
