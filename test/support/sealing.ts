/** @module A ledger in a file whose commands other threads decide on and seal. */
import type { Json } from '../../schemas/json.ts'
import { type OpenLedger, openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Log } from '../../src/ledger/ports.ts'
import { readSettings, type Settings } from '../../src/settings/config.ts'

export function openWithSealing(
  data: string,
  threads: number,
  more: Partial<Settings> = {},
  log: Log = silentLog,
): Promise<OpenLedger> {
  const flags = { data, 'checkpoint-seconds': '0', 'read-threads': '0', 'scrub-days': '0' }
  return openLedger({ ...readSettings({ ...flags, 'seal-threads': String(threads) }, {}), ...more }, log)
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g
const DIGEST = /sha256:[0-9a-f]{64}/g

/** Its text without what differs from one ledger to the next: ids by the order in which they come up, no times, no digests. */
export function likeness(value: Json): string {
  const ids = new Map<string, string>()
  const named = (id: string): string => {
    const name = ids.get(id) ?? `id-${ids.size}`
    ids.set(id, name)
    return name
  }
  return JSON.stringify(value).replace(UUID, named).replace(TIME, 'a time').replace(DIGEST, 'a digest')
}
