/** @module Exports from the store itself, which this command owns meanwhile: the export is recorded like any other. */
import type { EventQuery } from '../../schemas/event-query.ts'
import { type Loss, lossesMember } from '../../schemas/loss.ts'
import { openLedger, readIdentity } from '../compose/compose.ts'
import { openExportThreads } from '../compose/compose-readers.ts'
import { prepareBundle } from '../export/bundle/issue-bundle.ts'
import type { BodyMaker } from '../export/export-body.ts'
import type { ExportRefusal, Refused } from '../export/export-refusal.ts'
import type { FormatName } from '../export/formats.ts'
import { prepareExport } from '../export/issue-export.ts'
import { STATUS } from '../http/problem-codes.ts'
import { silentLog } from '../ledger/effects.ts'
import type { Caller, Ledger } from '../ledger/ledger.ts'
import type { Settings } from '../settings/config.ts'
import type { BundleProof } from '../verify/bundle/predicate.ts'
import { CliFailure, EXIT, type ExitCode, exitCodeOfStatus, noLedgerHere } from './failure.ts'

export interface WantedExport {
  readonly format: FormatName | 'bundle'
  readonly tenant: string
  readonly query: EventQuery
  /** For a line format: the leaf to start from. */
  readonly from?: number | undefined
  /** For a bundle: the kind of proof that nothing was left out. */
  readonly proof?: BundleProof | undefined
  /** For a bundle: include the large values that its events name. */
  readonly values?: boolean | undefined
}

/** The recorded actor if no caller signed in. */
const ACTOR = 'local'
/** May be empty in a ledger that was just founded; any other tenant has to have an event. */
const DEFAULT_TENANT = 'default'
/** Refusals that the user fixes by changing the arguments. */
const USAGE_CODES: ReadonlySet<ExportRefusal['code']> = new Set<ExportRefusal['code']>(['invalid-query', 'beyond-log'])

/** The exit code for a refused export, the same as with a running ledger. */
function exitCodeOfRefusal(refused: ExportRefusal): ExitCode {
  if (refused.code === 'refused') return exitCodeOfStatus(STATUS[refused.refusal.code])
  return USAGE_CODES.has(refused.code) ? EXIT.usage : exitCodeOfStatus(STATUS[refused.code])
}

interface PreparedFile {
  readonly start: () => Promise<void>
  readonly chunks: () => AsyncGenerator<Uint8Array, void>
}

type Prepare = (
  ledger: Ledger,
  caller: Caller,
  elsewhere: BodyMaker | undefined,
) => Promise<{ readonly ok: true; readonly value: PreparedFile } | Refused>

/** The part of the ledger that leaves it. */
interface Exported {
  readonly tenant: string
  readonly run?: string | undefined
  /** Called at the end with what is lost of that part, as the file says. */
  readonly onLosses: (losses: readonly Loss[]) => void
}

/** Throws `CliFailure` if there is no ledger or it refuses the export, `StoreOpenError` if a running ledger owns the store. */
export async function* fromStore(
  settings: Settings,
  { tenant, run, onLosses }: Exported,
  prepare: Prepare,
): AsyncGenerator<Uint8Array, void> {
  // Opening would found a ledger in an empty store.
  if ((await readIdentity(settings)) === undefined) throw noLedgerHere()
  await using opened = await openLedger(settings, silentLog)
  await using threads = openExportThreads(settings, { log: silentLog, ledger: opened.ledger })
  await opened.ledger.logs?.catchUp()
  if (tenant !== DEFAULT_TENANT && opened.ledger.logs?.state(tenant).size === 0)
    throw new CliFailure(`this ledger has no event of the tenant ${tenant}`, EXIT.unproven)
  const prepared = await prepare(opened.ledger, { tenant, actor: ACTOR }, threads?.bodies)
  if (!prepared.ok) throw new CliFailure(prepared.detail, exitCodeOfRefusal(prepared))
  await prepared.value.start()
  yield* prepared.value.chunks()
  // What was found while the events were read is recorded first.
  await opened.ledger.integrity.settled()
  onLosses(lossesMember(opened.ledger.losses({ tenant, run })) ?? [])
}

/** Throws the errors of `fromStore`. */
export function localExport(
  settings: Settings,
  { tenant, format, query, proof, values, from }: WantedExport,
  onLosses: Exported['onLosses'],
): AsyncGenerator<Uint8Array, void> {
  return fromStore(settings, { tenant, run: query.run, onLosses }, (ledger, caller, elsewhere) =>
    format === 'bundle'
      ? prepareBundle(ledger, caller, query, { proof, values })
      : prepareExport(ledger, caller, { format, query, ...(from !== undefined && { from }) }, elsewhere),
  )
}
