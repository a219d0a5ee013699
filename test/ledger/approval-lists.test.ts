import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ApprovalState } from '../../projections/approval-state.ts'
import type { RunState } from '../../projections/run-state.ts'
import type { PlaceInRuns } from '../../src/ledger/ledger.ts'
import { type ApprovalReadDeps, ApprovalReads } from '../../src/ledger/read/approval-reads.ts'
import { at, digestOf, given, id, T0 } from '../support/decider.ts'
import { started } from '../support/run-events.ts'
import { alice } from '../support/test-ledger.ts'

const test = suite('lists of approvals')

/** A run of which `many` approvals were requested; all but the last `pending` were denied. */
function runWith(many: number, pending: number): RunState {
  const state = given(started()).state()
  for (let n = 1; n <= many; n += 1) {
    const approval: ApprovalState = {
      ...{ approvalId: id(n), key: `k${n}`, tool: 'pay', phase: 'forward', argsDigest: digestOf(n), generation: 1 },
      ...{ revision: n, requestedAt: at(0), requestedBy: { actor: 'bot' }, needs: [], expiresAt: at(60_000) },
      ...{ selfApproval: false, onDenied: 'error', grants: [], status: n > many - pending ? 'pending' : 'denied' },
    }
    state.approvals[`$${id(n)}`] = approval
    if (approval.status === 'pending') state.pendingApprovals[`$${id(n)}`] = true
  }
  return state
}

/** Reads that count what they make of approvals, what they read of the store, and the runs that they look into. */
function counting(runs: readonly RunState[], nowMs = T0) {
  const did = { made: 0, read: 0, runs: 0 }
  const rows = runs.map((_, n) => ({ runId: `r${n}`, startedAt: at(-n) }))
  const deps = {
    queries: {
      read: async (_: unknown, runId: string, render: (state: RunState) => unknown) => {
        did.runs += 1
        const rendered = render(runs[Number(runId.slice(1))] as RunState)
        return { ok: true, revision: 0, value: typeof rendered === 'function' ? await rendered() : rendered }
      },
    },
    reader: {
      readableAt: async () => {
        did.read += 1
      },
    },
    list: {
      list: async (_: unknown, { after, limit }: { readonly after?: PlaceInRuns; readonly limit: number }) => {
        const from = after === undefined ? 0 : Number(after.runId.slice(1)) + 1
        return { items: rows.slice(from, from + limit), asOf: undefined }
      },
    },
    effects: {
      nowMs: () => {
        did.made += 1
        return nowMs
      },
    },
  }
  return { did, reads: new ApprovalReads(deps as unknown as ApprovalReadDeps) }
}

test('a page of a run with 20,000 approvals takes the work of one of a run with 200, wherever it begins (RUN-133)', async () => {
  for (const after of [-1, 50, 19_800]) {
    const { did, reads } = counting([runWith(20_000, 256)])
    const page = await reads.approvals(alice, 'r0', { after, limit: 50 })
    assert.ok(page.ok)
    assert.is((page.value.items as readonly unknown[]).length, 50)
    assert.equal(did, { made: 51, read: 50, runs: 1 }, `after ${after}`)
  }
})

test('a page of the queue takes the work of what it shows, with 20,000 that wait and with 20,000 that do not (RUN-133)', async () => {
  const waiting = counting(Array.from({ length: 79 }, () => runWith(256, 256)))
  const first = await waiting.reads.pendingApprovals(alice, { limit: 50 })
  assert.ok(first.ok)
  assert.equal(waiting.did, { made: 51, read: 50, runs: 1 })
  const decided = counting([runWith(20_000, 1)])
  const one = await decided.reads.pendingApprovals(alice, { limit: 50 })
  assert.is(one.ok && one.value.items.length, 1)
  assert.equal(decided.did, { made: 1, read: 1, runs: 1 })
})

test('a page of the queue looks into 500 runs at most, and says where to go on: page after page all are looked into (RUN-133)', async () => {
  const runs = Array.from({ length: 1_200 }, () => runWith(1, 1))
  const { did, reads } = counting(runs, T0 + 60_000)
  let from: PlaceInRuns | undefined
  let pages = 0
  do {
    const page = await reads.pendingApprovals(alice, { limit: 50, ...(from && { from }) })
    assert.ok(page.ok)
    assert.equal(page.value.items, [])
    pages += 1
    from = page.value.next
  } while (from !== undefined)
  assert.equal([pages, did.runs], [3, 1_200])
})

test.run()
