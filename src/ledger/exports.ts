/** @module What leaves the ledger: the place that an export is pinned to, and its facts on record. */
import type { JsonObject } from '../../schemas/json.ts'
import { digestText } from '../signing/digests.ts'
import type { EventStore, Position } from '../store/event-store.ts'
import type { Caller, ExportFact, ExportPin, LedgerExports } from './ledger.ts'
import type { LedgerFacts } from './ledger-facts.ts'
import type { TenantLogs } from './log/tenant-logs.ts'

export interface ExportsDeps {
  readonly store: EventStore
  readonly logs: TenantLogs | undefined
  readonly facts: LedgerFacts
}

export class Exports implements LedgerExports {
  readonly #deps: ExportsDeps

  constructor(deps: ExportsDeps) {
    this.#deps = deps
  }

  async pin({ tenant }: Caller, at?: Position): Promise<ExportPin> {
    const { store, logs } = this.#deps
    const until = at ?? (await store.end())
    const tree = until === undefined ? undefined : await logs?.treeAt(tenant, until)
    return { until, tree: tree === undefined ? null : { size: tree.size, root: digestText(tree.root) } }
  }

  async record(caller: Caller, { type, data }: ExportFact): Promise<void> {
    await this.#deps.facts.record({ tenant: caller.tenant, type, data: data as JsonObject, by: caller })
  }
}
