/** @module Records facts about the processes that serve the ledger: starts and stops, settings, tokens. They are in the log of the ledger's own facts. */

import { EVENTS, type EventBody } from '../../../schemas/events.ts'
import { type Json, parseJsonOrUndefined } from '../../../schemas/json.ts'
import { SYSTEM_STREAM, SYSTEM_TENANT } from '../../../schemas/names.ts'
import type { EventStore } from '../../store/event-store.ts'
import type { ServiceReads, ServiceRecord } from '../service.ts'
import type { LedgerFacts } from './ledger-facts.ts'
import type { Sealer } from './sealer.ts'
import { serviceReads } from './service-reads.ts'

export interface ServiceDeps {
  readonly store: Pick<EventStore, 'readStream'>
  readonly sealer: Sealer
  readonly facts: LedgerFacts
  readonly newId: () => string
}

type Recorded = 'ServiceStarted' | 'ServiceStopped' | 'ConfigurationChanged' | 'TokenIssued'

export function serviceRecord({ store, sealer, facts, newId }: ServiceDeps): ServiceRecord & ServiceReads {
  const record = <T extends Recorded>(type: T, data: EventBody<T>): Promise<void> =>
    facts.record({ tenant: SYSTEM_TENANT, type, data: data as unknown as Json })
  return {
    started: async ({ version, node, settings }) => {
      const start = newId()
      const before = await lastSettings(store)
      const changed = before && changedNames(before, settings)
      await record('ServiceStarted', { v: 1, start, version, node, settings, ...(changed && { changed }) })
      return start
    },
    stopped: (start) => record('ServiceStopped', { v: 1, start }),
    changed: (start, change) => record('ConfigurationChanged', { v: 1, start, ...change }),
    tokenIssued: (token) => record('TokenIssued', token),
    ...serviceReads({ store, sealer }),
  }
}

type SettingTexts = Readonly<Record<string, string>>

/** Settings of the last recorded start; undefined before the first. */
async function lastSettings(store: ServiceDeps['store']): Promise<SettingTexts | undefined> {
  for await (const page of store.readStream(SYSTEM_STREAM, { direction: 'backwards' })) {
    for (const { header, data } of page) {
      if (!header.includes('"type":"ServiceStarted"')) continue
      const body = EVENTS.ServiceStarted.schema.safeParse(parseJsonOrUndefined(data))
      if (body.success) return body.data.settings
    }
  }
  return undefined
}

function changedNames(before: SettingTexts, now: SettingTexts): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)])
  return [...names].filter((name) => before[name] !== now[name]).sort()
}
