/**
 * @module The archives of a tenant as the ledger records them (LIFE-51), and the one step in which bodies leave the store: under the same lock as legal holds
 * and erasures, after the record is durable.
 */
import type { Json } from '../../../schemas/json.ts'
import { runStream, valueStream } from '../../../schemas/names.ts'
import type { Caller } from '../../access/caller.ts'
import { ofWholeTenant } from '../../access/check-access.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import type { MovedRow } from '../../store/archived-body.ts'
import { type EventStore, readOne } from '../../store/event-store.ts'
import { pacedPages } from '../../store/paced-pages.ts'
import type { LedgerFacts } from '../identity/ledger-facts.ts'
import { shownEvent } from '../read/record-seal.ts'
import { TenantFold, type TenantFoldDeps } from '../read/tenant-fold.ts'
import { loadRefusal } from '../write/write-refusals.ts'
import { type ArchiveBody, type Archives, NO_ARCHIVES, type RecordedArchives, withArchive } from './archive-records.ts'
import { type Hold, type HoldRecords, type Holds, holdOn } from './hold-records.ts'
import type { Answered } from './subjects.ts'

const LISTED_MAX = 1_000

export interface ArchivesDeps {
  readonly store: EventStore
  readonly facts: LedgerFacts
  readonly holds: HoldRecords
  readonly folding: TenantFoldDeps
  /** Runs in which a key of a subject is used; absent if this ledger keeps none. */
  readonly runsOf?: ((keyId: string) => readonly string[]) | undefined
  /** Keeps holds and erasures out meanwhile. */
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>
}

/** Finds the hold that covers a run: placed on it, on the tenant, or on a subject of which something is kept in the run. */
function holdsOnRuns(holds: Holds, runsOf: ArchivesDeps['runsOf']): (run: string) => Hold | undefined {
  const active = [...holds.values()].filter(({ state }) => state === 'active')
  const heldKeys = active.flatMap(({ keyIds = [] }) => keyIds)
  const runsByKey = new Map(heldKeys.map((id) => [id, new Set(runsOf?.(id) ?? [])]))
  return (run) => {
    const used = heldKeys.filter((id) => runsByKey.get(id)?.has(run) === true)
    return holdOn(holds, { runs: new Set([run]), keyIds: new Set(used) })
  }
}

export function openArchives({ store, facts, holds, folding, alone, runsOf }: ArchivesDeps): Archives {
  const records = new TenantFold<RecordedArchives>(folding, {
    none: NO_ARCHIVES,
    withEvent: withArchive,
    mayBe: 'an archive',
  })
  const within = async <T>(caller: Caller, work: () => Promise<Answered<T>>): Promise<Answered<T>> => {
    const outside = ofWholeTenant(caller)
    if (outside !== undefined) return { ok: false, refusal: outside }
    return work().catch((error: unknown) => ({ ok: false, refusal: loadRefusal(error, store) }))
  }
  const refusedNow = async (tenant: string, runs: ArchiveBody['runs']): Promise<Refusal | undefined> => {
    const on = holdsOnRuns(await holds.of(tenant), runsOf)
    const held = runs.map(({ run }) => on(run)).find((hold) => hold !== undefined)
    if (held !== undefined) return heldBy(held)
    for (const { run, events } of runs) {
      const last = await store.head(runStream(tenant, run))
      if (last !== events - 1) return grown(run, { expected: events - 1, actual: last })
    }
    return undefined
  }
  const move = async (archive: string, rows: readonly MovedRow[]): Promise<void> => {
    if (store.moveBodies === undefined) throw new TypeError('this store moves no bodies')
    await store.moveBodies({ archive, rows })
  }
  return {
    of: (caller) =>
      within(caller, async () => {
        const on = holdsOnRuns(await holds.of(caller.tenant), runsOf)
        return { ok: true, value: { archives: await records.of(caller.tenant), holdOn: (run) => on(run)?.hold } }
      }),
    isArchived: async ({ tenant }, run) =>
      (await readOne(store, { stream: runStream(tenant, run), revision: 0 }))?.archive !== undefined,
    list: (caller) =>
      within(caller, async () => {
        const { list } = await records.of(caller.tenant)
        return { ok: true, value: { items: list.slice(-LISTED_MAX).reverse(), total: list.length } }
      }),
    archive: (caller, body, rows) =>
      within(caller, () =>
        alone(async () => {
          const { tenant } = caller
          let refused: Refusal | undefined
          const isRefused = async (): Promise<boolean> => {
            refused = await refusedNow(tenant, body.runs)
            return refused !== undefined
          }
          await facts.record({ tenant, type: 'RunsArchived', data: body as unknown as Json, by: caller }, isRefused)
          if (refused !== undefined) return { ok: false, refusal: refused }
          await move(body.archive, rows)
          return { ok: true, value: body }
        }),
      ),
    valueParts: async function* ({ tenant, pace }, digest) {
      const pages = pacedPages(store.readStream(valueStream(tenant, digest)), pace)
      for await (const page of pages) yield page.map((record) => shownEvent(folding.sealer, record))
    },
    finish: (caller, last, rows) =>
      within(caller, () =>
        alone(async () => {
          const refused = await refusedNow(caller.tenant, last.runs)
          if (refused !== undefined) return { ok: false, refusal: refused }
          await move(last.archive, rows)
          return { ok: true, value: last }
        }),
      ),
  }
}

function heldBy({ hold, placedBy }: Hold): Refusal {
  const detail = `the legal hold ${hold}, placed by ${placedBy}, covers a run of this archive, which was not made: release the hold first, or let the next pass leave out what it covers`
  return refusal('held', detail, { evidence: { hold } })
}

function grown(run: string, evidence: { readonly expected: number; readonly actual: number }): Refusal {
  const detail = `the run ${run} has further events by now: its archive was not made, and the next pass looks at it again`
  return refusal('revision-conflict', detail, { evidence: { run, ...evidence } })
}
