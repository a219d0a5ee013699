/** Workers that are killed at random: every run ends once, every effect happens once, nobody starves. */
import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { connect } from '../../../src/agent/index.ts'
import { cleanEnv, type Ended, endOf, spawnTracked } from '../../support/command-line.ts'
import { ledgerProcesses } from '../../support/ledger-processes.ts'
import { bundledProgram } from '../../support/program.ts'
import { seededRandom, testSeed } from '../../support/random.ts'
import { rounds } from '../../support/rounds.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { within } from '../../support/within.ts'

const test = suite('workers that are killed')

const CHILD = bundledProgram('test/agent/workers/killed-worker-child.js')
const RUNS = rounds(40, 200, 2_000)
const KILLS = rounds(4, 20, 200)
const LONG_MS = 30 * 60_000

for (const count of [2, 4]) {
  test(`${count} workers, ${RUNS} runs with approvals, sleeps, signals and runs within them, ${KILLS} kills: each run ends once, each effect is one (RUN-222, RUN-223, RUN-224)`, async () => {
    await using ledger = await ledgerProcesses(1)
    using folder = tempFolder()
    const random = seededRandom(testSeed(count))
    const { tenant } = ledger
    const { url } = ledger.first
    const token = await ledger.first.token({ subject: 'clerk', tenant, scopes: SCOPES })
    const approver = await ledger.first.token({ subject: 'boss', tenant, scopes: SCOPES })
    await using cs = connect({ url, token })
    await using boss = connect({ url, token: approver })

    const ids = Array.from({ length: RUNS }, (_, i) => `order-${i}`)
    for (const id of ids) await cs.start('order', id, { id })
    const workers = Array.from({ length: count }, () => begin(folder.path, url, token))
    let kills = 0
    const ended = new Map<string, unknown>()
    const signalled = new Set<string>()
    const deadline = Date.now() + LONG_MS
    while (ended.size < ids.length) {
      const open = ids.find((id) => !ended.has(id))
      assert.ok(Date.now() < deadline, `${ended.size} of ${ids.length} runs have ended: ${open} has not`)
      for await (const approval of boss.approvals.list()) await boss.approvals.grant(approval)
      for await (const { runId, status } of cs.runs({ name: 'order' })) {
        if (status !== 'open') ended.set(runId, status)
        // Some runs are there for the last kill, too.
        else if (!signalled.has(runId) && (kills >= KILLS || signalled.size < RUNS / 2)) {
          signalled.add(runId)
          await cs.signal(runId, 'address', `street ${runId}`, { requestId: runId })
        }
      }
      await new Promise((resolve) => setTimeout(resolve, random() * 300))
      if (kills >= KILLS) continue
      const at = Math.floor(random() * workers.length)
      const victim = workers[at]
      assert.ok(victim)
      victim.child.kill('SIGKILL')
      await within(victim.end, 'the end of a killed worker')
      kills += 1
      workers[at] = begin(folder.path, url, token)
    }
    assert.is(kills, KILLS)
    for (const { child, works, end } of workers) {
      await within(works, 'a worker that works')
      child.kill('SIGTERM')
      assert.is((await within(end, 'a worker that was stopped')).code, 0)
    }

    const effects = existsSync(folder.file('effects'))
      ? readFileSync(folder.file('effects'), 'utf8').trim().split('\n')
      : []
    const deeds = effects.map((line) => line.split(' ').slice(1).join(' ')).sort()
    assert.equal(deeds, ids.flatMap((id) => ['reserve', 'pay', 'ship'].map((deed) => `${id} ${deed}`)).sort())
    for (const id of ids) assert.is(await within(cs.result(id), id), `${id} to street ${id}`)
    await ledger.verify()
  })
}

const SCOPES = ['runs:write', 'runs:read', 'payloads:read', 'approvals:write'] as const

interface Living {
  readonly child: ChildProcess
  readonly works: Promise<unknown>
  readonly end: Promise<Ended>
}

function begin(folder: string, url: string, token: string): Living {
  const command = [process.execPath, CHILD, folder, url, token]
  const child = spawnTracked(command, { env: cleanEnv(), stdio: ['ignore', 'pipe', 'inherit'] })
  const works = new Promise((resolve) => child.stdout?.once('data', resolve))
  return { child, works, end: endOf(child) }
}

test.run()
