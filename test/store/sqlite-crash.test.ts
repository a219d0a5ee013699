import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ReadRecord } from '../../src/store/event-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { collect } from '../support/records.ts'
import { tempFolder } from '../support/temp-folder.ts'

const CHILD = fileURLToPath(new URL('./crash-child.js', import.meta.url))
const CYCLES = Number(process.env.CRASH_CYCLES ?? 15)

interface Ack {
  readonly stream: string
  readonly revision: number
  readonly mark: string
}

const test = suite('sqlite store killed at any moment')

test(`${CYCLES} kills lose no acknowledged append, tear none and leave no gap`, async () => {
  using folder = tempFolder()
  const path = folder.file('ledger.sqlite')
  const acks: Ack[] = []
  for (let cycle = 0; cycle < CYCLES; cycle += 1) {
    acks.push(...(await killedAfter(path, 20 + Math.floor(Math.random() * 400))))
    await using store = await openSqliteStore({ path })
    checkHistory(await collect(store.readAll()), acks)
  }
  assert.ok(acks.length > 20 * CYCLES, 'the children did write')
})

/** Runs a child until it has acknowledged `count` appends, kills it with SIGKILL, and gives all that it acknowledged. */
async function killedAfter(path: string, count: number): Promise<readonly Ack[]> {
  const child = spawn(process.execPath, [CHILD, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  let lines = 0
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    lines += chunk.split('\n').length - 1
    if (lines > count) child.kill('SIGKILL')
  })
  const [, signal] = await once(child, 'close')
  assert.is(signal, 'SIGKILL')
  const whole = text.split('\n').slice(1, -1)
  return whole.map((line) => {
    const [stream = '', revision = '', mark = ''] = line.split(' ')
    return { stream, revision: Number(revision), mark }
  })
}

function checkHistory(records: readonly ReadRecord[], acks: readonly Ack[]): void {
  const next = new Map<string, number>()
  const marks = new Map<string, { of: number; revisions: number[] }>()
  for (const { stream, revision, data } of records) {
    assert.is(revision, next.get(stream) ?? 0, 'revisions are contiguous')
    next.set(stream, revision + 1)
    const { mark, of } = JSON.parse(data) as { mark: string; of: number }
    const seen = marks.get(mark) ?? { of, revisions: [] }
    seen.revisions.push(revision)
    marks.set(mark, seen)
  }
  for (const { of, revisions } of marks.values()) assert.is(revisions.length, of, 'an append is whole')
  for (const { revision, mark } of acks)
    assert.is(marks.get(mark)?.revisions.at(-1), revision, 'acknowledged, so there')
}

test.run()
