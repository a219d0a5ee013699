/** @module The filter of a read or a subscription of `$all`: by stream or by type, prefixes or a regular expression. */
import type { ReadReq } from '@eventstore/db-client/generated/streams_pb.js'
import type { LoggedEvent } from './log.ts'

export interface EventFilter {
  readonly lets: (event: LoggedEvent) => boolean
  /** A checkpoint after so many events were looked at; 0: none. */
  readonly checkpointEvery: number
}

const DEFAULT_WINDOW = 32

export function eventFilter(options: ReadReq.Options): EventFilter {
  const filter = options.getFilter()
  if (filter === undefined) return { lets: () => true, checkpointEvery: 0 }
  const byStream = filter.getStreamIdentifier()
  const expression = byStream ?? filter.getEventType()
  const [prefixes, regex] = [expression?.getPrefixList() ?? [], expression?.getRegex() ?? '']
  const matches = regex === '' ? undefined : new RegExp(regex)
  const window = filter.hasMax() ? filter.getMax() : DEFAULT_WINDOW
  return {
    lets: (event) => {
      const text = byStream === undefined ? event.type : event.stream
      return matches === undefined ? prefixes.some((prefix) => text.startsWith(prefix)) : matches.test(text)
    },
    checkpointEvery: window * Math.max(filter.getCheckpointintervalmultiplier(), 1),
  }
}
