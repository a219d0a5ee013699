/** @module An export from the store itself, which this command owns meanwhile: it goes on record like any other. */
import { openLedger, readIdentity } from '../compose.ts'
import type { Settings } from '../config.ts'
import type { FormatName } from '../export/formats.ts'
import { prepareExport } from '../export/issue-export.ts'
import { silentLog } from '../ledger/effects.ts'
import { CliFailure, EXIT } from './failure.ts'

export interface WantedExport {
  readonly format: FormatName
  readonly tenant: string
  /** Absent: the whole tenant. */
  readonly run?: string
}

/** Who exports, on record, where nobody signed in. */
const ACTOR = 'local'

/** Throws `CliFailure` where there is no ledger or no such run, `StoreOpenError` where a running ledger owns the store. */
export async function* localExport(settings: Settings, wanted: WantedExport): AsyncGenerator<Uint8Array, void> {
  // Opening would found a ledger where there is none.
  if ((await readIdentity(settings)) === undefined)
    throw new CliFailure('there is no ledger in this store yet: name the store with --data or --store', EXIT.usage)
  const { tenant, run, format } = wanted
  await using opened = await openLedger(settings, silentLog)
  const caller = { tenant, actor: ACTOR }
  const prepared = await prepareExport(opened.ledger, caller, { format, ...(run !== undefined && { run }) })
  if (!prepared.ok) throw new CliFailure(prepared.refusal.detail)
  await prepared.value.start()
  yield* prepared.value.chunks()
}
