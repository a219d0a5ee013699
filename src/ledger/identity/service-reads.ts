/**
 * @module The part of the ledger's own record, which is in no tenant's log, that auditors of a tenant may read: service events that concern all
 * tenants, and tokens issued for the tenant (LOG-35). Read from the store, newest first, with the seal of each record checked.
 */
import { declarationOf, EVENTS } from '../../../schemas/events.ts'
import type { Header } from '../../../schemas/header.ts'
import { isJsonObject, type JsonObject } from '../../../schemas/json.ts'
import { SYSTEM_STREAM } from '../../../schemas/names.ts'
import type { EventStore, ReadRecord } from '../../store/event-store.ts'
import type { ServiceFilter } from '../audit/service-queries.ts'
import type { LedgerEvent } from '../ledger-event.ts'
import { ledgerEvent } from '../read/parse-record.ts'
import { sealOf } from '../read/record-seal.ts'
import type { ServicePage, ServicePlace, ServiceReads } from '../service.ts'
import type { Sealer } from './sealer.ts'

interface ReadsDeps {
  readonly store: Pick<EventStore, 'readStream'>
  readonly sealer: Sealer
}

/** Maximum number of events that one page looks at, whether they are shown or not: many tokens may belong to other tenants. */
const LOOKED_MAX = 2_000

/** Settings that affect what is audited; paths, addresses and resource limits are private to the operator. */
const SHOWN_SETTINGS: ReadonlySet<string> = new Set([
  'store',
  'origin',
  'issuer',
  'audience',
  'trusted-issuers',
  'policy',
  'retention',
  'judge',
  'payload-scope',
  'strict-access',
  'checkpoint-seconds',
  'scrub-days',
  'witnesses',
  'timestamp-url',
  'timestamp-minutes',
  'value-max-bytes',
  'webhook-events',
])

export function serviceReads(deps: ReadsDeps): ServiceReads {
  return {
    history: (place) => pageOf(deps, place, historyItem),
    tokens: (tenant, place) => pageOf(deps, place, (event) => tokenItem(event, tenant)),
  }
}

/** Whether a token with this `jti` was issued for the tenant. Reads back to its issue, or the whole record. */
export async function isIssued(store: ReadsDeps['store'], tenant: string, token: string): Promise<boolean> {
  for await (const page of store.readStream(SYSTEM_STREAM, { direction: 'backwards' })) {
    for (const record of page) {
      if (!record.header.includes('"type":"TokenIssued"')) continue
      if (tokenItem(ledgerEvent(record), tenant)?.token === token) return true
    }
  }
  return false
}

type Shown = (event: LedgerEvent) => JsonObject | undefined

async function pageOf(
  { store, sealer }: ReadsDeps,
  { from, limit, filter = {} }: ServicePlace,
  shown: Shown,
): Promise<ServicePage> {
  const items: JsonObject[] = []
  let looked = 0
  const options = { direction: 'backwards', ...(from !== undefined && { to: from }) } as const
  for await (const page of store.readStream(SYSTEM_STREAM, options)) {
    for (const record of page) {
      if (items.length === limit || looked === LOOKED_MAX) return { items, next: record.revision }
      looked += 1
      const item = itemOf(record, filter, shown)
      if (item !== undefined) items.push({ ...item, seal: sealOf(sealer, record) })
    }
  }
  return { items }
}

function itemOf(record: ReadRecord, filter: ServiceFilter, shown: Shown): JsonObject | undefined {
  const event = ledgerEvent(record)
  if (!fits(event.header, filter)) return undefined
  const { id, type, time } = event.header
  const fields = shown(event)
  return fields && { time, type, ...fields, event: id }
}

/** Filters by the header. A clock that was set back does not end a page early. */
function fits({ time, type }: Header, { since, until, types }: ServiceFilter): boolean {
  const atMs = Date.parse(time)
  if (since !== undefined && !(atMs >= Date.parse(since))) return false
  if (until !== undefined && !(atMs < Date.parse(until))) return false
  return types === undefined || types.includes(type)
}

function historyItem({ header: { type }, data }: LedgerEvent): JsonObject | undefined {
  const declared = declarationOf(type)
  if (declared?.ofService !== true) return undefined
  const item = said(declared.schema.safeParse(data).data)
  const { settings } = item
  if (settings === undefined || !isJsonObject(settings)) return item
  return {
    ...item,
    settings: Object.fromEntries(Object.entries(settings).filter(([name]) => SHOWN_SETTINGS.has(name))),
  }
}

/** A record that does not match the schema is shown with its place only; its seal says the rest. */
function tokenItem({ header: { type }, data }: LedgerEvent, tenant: string): JsonObject | undefined {
  if (type !== 'TokenIssued') return undefined
  const body = EVENTS.TokenIssued.schema.safeParse(data).data
  return body?.forTenant === tenant ? said(body) : undefined
}

function said(body: object | undefined): JsonObject {
  const { v: _, ...rest } = (body ?? {}) as JsonObject
  return rest
}
