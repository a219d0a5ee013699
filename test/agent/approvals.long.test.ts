import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { open } from '../../src/agent/open.ts'
import { bundledProgram } from '../support/program.ts'
import { seededRandom, testSeed } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('approvals of a process that is killed at random moments')

const ROUNDS = rounds(1, 1, 3)
const LIVES_MAX = 400

/** One life, cut short after `ms`; what it said. */
async function life(folder: string, ms: number): Promise<{ killed: boolean; said: string }> {
  const child = spawn(process.execPath, [bundledProgram('test/agent/approved-payments-child.js'), folder])
  let said = ''
  let wrong = ''
  // Counted from when the ledger is open, so that a busy machine is not killed before it begins.
  let timer: ReturnType<typeof setTimeout> | undefined
  child.stdout.on('data', (chunk) => {
    said += chunk
    timer ??= setTimeout(() => child.kill('SIGKILL'), ms)
  })
  child.stderr.on('data', (chunk) => (wrong += chunk))
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.on('exit', (...end) => resolve(end)),
  )
  clearTimeout(timer)
  assert.ok(signal === 'SIGKILL' || code === 0, wrong)
  return { killed: signal === 'SIGKILL', said }
}

test('each payment over the limit is made once, by an approval of its own that was granted before (F120)', async () => {
  const random = seededRandom(testSeed(20_261_122))
  let kills = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    using folder = tempFolder()
    const path = join(folder.path, 'data')
    for (let lives = 0, done = false; !done; lives += 1) {
      assert.ok(lives < LIVES_MAX, 'it comes to an end')
      const { killed, said } = await life(folder.path, random() * 150)
      kills += killed ? 1 : 0
      done = said.includes('all paid')
      if (random() < 0.3) continue
      await using cs = await open({ path, actor: 'boss' })
      for await (const approval of cs.approvals.list()) await cs.approvals.grant(approval)
    }
    const bank = readFileSync(join(folder.path, 'bank'), 'utf8').trim().split('\n')
    assert.equal(
      bank.map((line) => line.split(' ').slice(1).join(' ')),
      ['0 5000', '1 50', '2 5000', '3 50', '4 5000', '5 50'],
    )
    await using cs = await open({ path, actor: 'boss' })
    const grantedAt = new Map<unknown, number>()
    const used: unknown[] = []
    let at = 0
    let text = ''
    for await (const part of cs.export('r')) text += part
    for (const line of text.trim().split('\n')) {
      const { header, data } = JSON.parse(line) as { header?: { type: string }; data?: Record<string, unknown> }
      at += 1
      if (header?.type === 'ApprovalGranted') grantedAt.set(data?.approvalId, at)
      if (header?.type !== 'ToolCallClaimed' || data?.attempt !== 1) continue
      const { cents } = data.args as { cents: number }
      assert.is(data.approvalId === undefined, cents <= 100)
      if (data.approvalId === undefined) continue
      assert.ok((grantedAt.get(data.approvalId) ?? Number.POSITIVE_INFINITY) < at, 'approved before it was claimed')
      used.push(data.approvalId)
    }
    assert.is(used.length, 3)
    assert.is(new Set(used).size, 3)
  }
  assert.ok(kills >= ROUNDS, `${kills} kills`)
})

test.run()
