/** A run is kept while its code is silent, and not beside work that keeps it anyway. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Connection } from '../../../src/agent/runtime/connection.ts'
import { keepRun } from '../../../src/agent/workers/keep-run.ts'
import { UnreachableError } from '../../../src/client/errors.ts'
import { eventually } from '../../support/within.ts'

const test = suite('a run that a worker keeps')

const HOLD_MS = 90
const KEEPING = { runId: 'r', holdMs: HOLD_MS, stopping: new AbortController().signal }

interface Answers {
  readonly ok: boolean
  readonly created?: boolean
  readonly problem?: { readonly code: string }
}

function connectionThat(answers: Answers): { connection: Connection; kinds: string[] } {
  const kinds: string[] = []
  const execute = async (_: string, { kind }: { readonly kind: string }) => {
    kinds.push(kind)
    return answers
  }
  return { connection: { execute } as unknown as Connection, kinds }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

test('a worker that stops asks a ledger once that it cannot reach (RUN-278)', async () => {
  const { reached, ...asked } = { reached: { is: false }, times: 0 }
  const execute = async () => {
    asked.times += 1
    if (!reached.is) throw new UnreachableError('the ledger is away')
    return { ok: true }
  }
  const stopping = new AbortController()
  const kept = keepRun({ execute } as unknown as Connection, { ...KEEPING, stopping: stopping.signal })
  const ask = () => kept.connection.execute('r', { kind: 'complete', body: {} }).catch((error: unknown) => error)
  for (let turn = 0; turn < 2; turn += 1) assert.instance(await ask(), UnreachableError)
  stopping.abort()
  for (let turn = 0; turn < 3; turn += 1) assert.instance(await ask(), UnreachableError)
  assert.is(asked.times, 2)
})

test('silent code is kept until it ends (RUN-224)', async () => {
  const { connection, kinds } = connectionThat({ ok: true, created: true })
  const kept = keepRun(connection, KEEPING)
  kept.begin(2)
  await eventually(() => (kinds.length >= 3 ? true : undefined), 'three renewals')
  kept.end()
  await pause(1)
  const { length } = kinds
  await pause(HOLD_MS)
  assert.is(kinds.length, length)
  assert.ok(kinds.every((kind) => kind === 'carry'))
})

test('what the code appends keeps the run as well; a request that appends nothing, or is about another run, does not (RUN-224)', async () => {
  const busy = connectionThat({ ok: true, created: true })
  const kept = keepRun(busy.connection, { ...KEEPING, holdMs: 3_000 })
  kept.begin(2)
  for (let turn = 0; turn < 5; turn += 1) {
    await kept.connection.execute('r', { kind: 'complete', body: {} })
    await pause(1)
  }
  kept.end()
  assert.not.ok(busy.kinds.includes('carry'))

  for (const [run, created] of [
    ['r', false],
    ['child', true],
  ] as const) {
    const polling = connectionThat({ ok: true, created })
    const held = keepRun(polling.connection, KEEPING)
    held.begin(2)
    await eventually(async () => {
      await held.connection.execute(run, { kind: 'complete', body: {} })
      return polling.kinds.includes('carry') ? true : undefined
    }, 'a renewal beside requests that keep nothing')
    held.end()
  }
})

test('a run that another owner has taken is kept no longer (RUN-224)', async () => {
  const { connection, kinds } = connectionThat({ ok: false, problem: { code: 'run-taken-over' } })
  const kept = keepRun(connection, KEEPING)
  kept.begin(2)
  await eventually(() => (kinds.length > 0 ? true : undefined), 'the refusal')
  await pause(HOLD_MS)
  assert.is(kinds.length, 1)
  kept.end()
})

test('a request that is refused for a while, or gets no answer, is made again before the hold is over (RUN-224)', async () => {
  for (const fails of [{ ok: false, problem: { code: 'rate-limited' } }, new Error('unreachable')] as const) {
    let asked = 0
    const execute = async () => {
      asked += 1
      if (asked > 2) return { ok: true, created: true }
      if (fails instanceof Error) throw fails
      return fails
    }
    const kept = keepRun({ execute } as unknown as Connection, KEEPING)
    kept.begin(2)
    await eventually(() => (asked > 2 ? true : undefined), 'a third request')
    kept.end()
  }
})

test.run()
