/** @module A ledger in this process as the target of an import. */

import type { Json } from '../../schemas/json.ts'
import type { Caller, Ledger, Outcome } from '../ledger/ledger.ts'
import { jsonDigest } from '../signing/digests.ts'
import type { ImportTarget, ItemAnswer } from './import-run.ts'

/** Not an HTTP method, so that an import over HTTP with the same key counts as a different request. */
const METHOD = 'IMPORT'
const PATH = '/v1/batch'

export function ledgerTarget(ledger: Ledger, caller: Caller): ImportTarget {
  return {
    batch: async (items, key) => {
      const body = jsonDigest(items as unknown as Json)
      const outcomes = await ledger.executeBatch(caller, items, {
        idempotency: { key, method: METHOD, path: PATH, body },
      })
      return { items: outcomes.map(answerOf), replayed: outcomes.every((outcome) => outcome.replayed) }
    },
  }
}

function answerOf(outcome: Outcome): ItemAnswer {
  if (outcome.ok) return { ok: true, body: outcome.body }
  return { ok: false, code: outcome.refusal.code, detail: outcome.refusal.detail }
}
