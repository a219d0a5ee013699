import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { toNano } from '../../../schemas/money.ts'
import type { GroupAsk } from '../../../src/ledger/audit/audit-groups.ts'
import { spendAnswer } from '../../../src/ledger/audit/audit-spend.ts'
import { fileGuard } from '../../../src/ledger/identity/file-guard.ts'
import {
  type AuditFilter,
  type AuditIndex,
  type LeafWindow,
  type SpendBy,
  SUM_BLOCK_LEAVES,
} from '../../../src/store/audit-index.ts'
import { openDatabase } from '../../../src/store/sqlite/open.ts'
import { openSqliteAudit } from '../../../src/store/sqlite/sqlite-audit.ts'
import { auditEntry } from '../../support/audit-entry.ts'
import { seededRandom, testSeed } from '../../support/random.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { testLedger } from '../../support/test-ledger.ts'

const test = suite('audit: spending from sums')

const LEAVES = 2 * SUM_BLOCK_LEAVES + 700
/** Hours that the log spans. */
const HOURS = 5
const START_MS = Date.parse('2026-01-31T21:00:00.000Z')
const timeAt = (share: number): string => new Date(START_MS + Math.floor(share * HOURS * 3_600_000)).toISOString()

interface Charged {
  readonly leaf: number
  readonly run: string
  readonly time: string
  readonly agent: string
  readonly tokens: number
  readonly costNano: bigint
  readonly estimated?: true
  readonly currency?: string
  readonly model?: string
}

/** Half of the leaves cost something, in either direction. */
function logOf(seed: number) {
  const random = seededRandom(testSeed(seed))
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
  const charged: Charged[] = []
  const entries = Array.from({ length: LEAVES }, (_, leaf) => {
    const place = { run: `r${leaf % 97}`, revision: Math.floor(leaf / 97), time: timeAt(leaf / LEAVES) }
    if (random() < 0.5) return auditEntry(leaf, place)
    const [currency, model] = [pick(['EUR', 'USD', undefined]), pick(['large', 'small', undefined])]
    const charge = {
      agent: pick(['ann', 'bob', '__proto__', 'Ärger']),
      tokens: Math.floor(random() * 200) - 50,
      costNano: BigInt(Math.floor((random() - 0.3) * 4e9)) * 1_000n + 1n,
      ...(random() < 0.2 && { estimated: true as const }),
      ...(currency && { currency }),
      ...(model && { model, provider: 'acme' }),
    }
    charged.push({ leaf, ...place, ...charge })
    return auditEntry(leaf, place, [charge])
  })
  return { entries, charged }
}

const KEYS: Readonly<Record<SpendBy, (charge: Charged) => string>> = {
  run: ({ run }) => run,
  agent: ({ agent }) => agent,
  model: ({ model }) => model ?? '',
  day: ({ time }) => time.slice(0, 10),
  month: ({ time }) => time.slice(0, 7),
  tenant: () => 'acme',
}

/** Summed one by one. */
function expected(charged: readonly Charged[], by: SpendBy): readonly unknown[] {
  const sums = new Map<string, { tokens: number; nano: bigint; estimatedTokens: number; estimatedNano: bigint }>()
  for (const charge of charged) {
    const key = JSON.stringify([KEYS[by](charge), charge.currency ?? ''])
    const sum = sums.get(key) ?? { tokens: 0, nano: 0n, estimatedTokens: 0, estimatedNano: 0n }
    const [tokens, nano] = charge.estimated === true ? [charge.tokens, charge.costNano] : [0, 0n]
    sums.set(key, {
      tokens: sum.tokens + charge.tokens,
      nano: sum.nano + charge.costNano,
      estimatedTokens: sum.estimatedTokens + tokens,
      estimatedNano: sum.estimatedNano + nano,
    })
  }
  return [...sums]
    .map(([text, amounts]) => ({ place: JSON.parse(text) as [string, string], amounts }))
    .sort((a, b) => Buffer.compare(Buffer.from(a.place.join('\0')), Buffer.from(b.place.join('\0'))))
    .map(({ place: [key, currency], amounts }) => ({ key, currency: currency || null, ...amounts }))
}

interface Asking {
  readonly index: AuditIndex
  readonly size: number
  readonly filter: AuditFilter
  readonly by: SpendBy
}

function nanoOf(cost: unknown): bigint {
  const text = String(cost)
  return text.startsWith('-') ? -toNano(text.slice(1)) : toNano(text)
}

/** Every page of an answer. */
async function asked({ index, size, filter, by }: Asking): Promise<readonly unknown[]> {
  const items: unknown[] = []
  for (let after: GroupAsk['after']; ; ) {
    const asOf = { treeSize: size, position: null, eventId: null }
    const ask: GroupAsk = { view: { tenant: 'acme', size }, asOf, filter, after, limit: 7, pace: undefined }
    const page = await spendAnswer({ index }, ask, by)
    for (const { key, currency, tokens, cost, estimatedTokens, estimatedCost, ...item } of page.items) {
      items.push({ key, currency, tokens, nano: nanoOf(cost), estimatedTokens, estimatedNano: nanoOf(estimatedCost) })
      assert.is(nanoOf(item.reportedCost) + nanoOf(estimatedCost), nanoOf(cost))
      assert.is(Number(item.reportedTokens) + Number(estimatedTokens), tokens)
    }
    if (page.next === undefined) return items
    after = page.next
  }
}

const SIZES = [0, SUM_BLOCK_LEAVES - 1, SUM_BLOCK_LEAVES, 2 * SUM_BLOCK_LEAVES + 1, LEAVES]
const PERIODS: readonly Pick<AuditFilter, 'since' | 'until'>[] = [
  {},
  { since: '2026-01-31T22:00:00.000Z' },
  { since: '2026-01-31T22:30:00.000Z', until: '2026-02-01T00:00:00.000Z' },
  { since: '2026-01-31T21:59:59.999Z', until: '2026-01-31T22:00:00.001Z' },
  { until: '2026-02-01T01:10:00.000Z' },
  { since: '2027-01-01T00:00:00.000Z' },
]
const WHO: readonly AuditFilter[] = [
  {},
  { agent: '__proto__' },
  { model: 'large' },
  { run: 'r5' },
  { provider: 'none' },
]

test('what was spent is the same from sums of whole blocks as charge by charge: by everything, for any period, filter, page and size of the log (F181)', async () => {
  const { entries, charged } = logOf(1)
  using index = openSqliteAudit({ path: ':memory:' })
  // Portions that end at no border of a block.
  for (let from = 0, position: string | undefined; from < LEAVES; from += 1_000) {
    const to = String(from)
    const batch = { states: new Map(), foreign: [], progress: { position: to, digest: 'd' } }
    assert.ok(index.save({ entries: entries.slice(from, from + 1_000), ...batch }, position))
    position = to
  }
  for (const size of SIZES) {
    for (const [n, period] of PERIODS.entries()) {
      const who = WHO[(n + size) % WHO.length] ?? {}
      const filter = { ...period, ...who }
      const counted = charged.filter(
        ({ leaf, time, agent, model, run }) =>
          leaf < size &&
          (period.since === undefined || time >= period.since) &&
          (period.until === undefined || time < period.until) &&
          (who.agent === undefined || who.agent === agent) &&
          (who.model === undefined || who.model === model) &&
          (who.run === undefined || who.run === run) &&
          who.provider === undefined,
      )
      for (const by of Object.keys(KEYS) as SpendBy[])
        assert.equal(
          await asked({ index, size, filter, by }),
          expected(counted, by),
          JSON.stringify({ size, filter, by }),
        )
    }
  }
})

test('a sum over the whole log looks at the charges of its last block and of hours that count in part, and a page by run at the runs on it (F181)', async () => {
  using index = openSqliteAudit({ path: ':memory:' })
  const { entries } = logOf(2)
  index.save({ entries, states: new Map(), foreign: [], progress: { position: '1', digest: 'd' } }, undefined)
  let leaves = 0
  let rows = 0
  const counting = new Proxy(index, {
    get: (target, name) => {
      if (name === 'spend')
        return (...args: Parameters<AuditIndex['spend']>) => {
          const { after, upTo }: LeafWindow = args[2].window
          leaves += upTo - after
          return target.spend(...args)
        }
      if (name === 'spendOfRuns')
        return (...args: Parameters<AuditIndex['spendOfRuns']>) => {
          rows += args[2].rows
          return target.spendOfRuns(...args)
        }
      return Reflect.get(target, name)
    },
  })
  const ask = (filter: AuditFilter, by: SpendBy) => {
    const view = { tenant: 'acme', size: LEAVES }
    const asOf = { treeSize: LEAVES, position: null, eventId: null }
    const page: GroupAsk = { view, asOf, filter, after: undefined, limit: 5, pace: undefined }
    return spendAnswer({ index: counting }, page, by)
  }
  await ask({}, 'agent')
  assert.is(leaves, SUM_BLOCK_LEAVES, 'the last block')
  await ask({ since: '2026-01-31T21:30:00.000Z' }, 'model')
  assert.is(leaves, 3 * SUM_BLOCK_LEAVES, 'and the one that half an hour lies in')
  await ask({}, 'run')
  assert.ok(rows <= 1_000, `${rows} rows`)
})

test('sums lie under the seal of the index: one that somebody changed costs the file (F181)', async () => {
  await using inner = await testLedger()
  using folder = tempFolder()
  const path = folder.file('audit.db')
  const guard = fileGuard(inner.keys, 'audit')
  const open = () => openSqliteAudit({ path, guard })
  {
    using index = open()
    assert.ok(await index.isAuthentic())
    const { entries } = logOf(3)
    index.save({ entries, states: new Map(), foreign: [], progress: { position: '1', digest: 'd' } }, undefined)
    assert.ok(await index.isAuthentic())
  }
  {
    using index = open()
    assert.ok(await index.isAuthentic())
  }
  const db = openDatabase({ path, busyTimeoutMs: 0 })
  assert.ok(db.prepare('UPDATE spend_sums SET whole = whole + 1 WHERE rowid = 1').run().changes === 1)
  db.close()
  using index = open()
  assert.not(await index.isAuthentic())
})

test.run()
