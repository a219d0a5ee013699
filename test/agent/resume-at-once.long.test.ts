import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { WaitNotice } from '../../src/agent/calls/owner-wait.ts'
import { open as openLedger } from '../../src/agent/open.ts'
import type { Connection } from '../../src/agent/runtime/connection.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'
import { isProcessGone, ownProcess } from '../../src/resources/process-identity.ts'
import { runCommand } from '../support/command-line.ts'
import { bundledProgram } from '../support/program.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, killedAfter, rejection } from './homes.ts'

const CHILD = bundledProgram('test/agent/owner-child.js')
/** A fraction of the lease that the dead process held: far above what a resume takes. */
const FAR_BELOW_LEASE_MS = 60_000

const processes = suite('a lease of a process that was killed')

processes('a process is distinguished from every other one, and known to be gone once it is (F88)', async () => {
  const own = ownProcess() ?? ''
  assert.match(own, /^p:[\w-]{16}:\d+:\d+$/)
  assert.is(isProcessGone(own), false)
  const [kind, machine, pid, start] = own.split(':')
  assert.is(isProcessGone([kind, machine, pid, `${Number(start) + 1}`].join(':')), true, 'the number went to another')
  assert.is(isProcessGone([kind, 'another-machine1', pid, '1'].join(':')), false, 'nothing is known of other machines')
  for (const text of ['', 'p', `p:${machine}`, `p:${machine}:x:1`, `q:${machine}:1:1`, `p:${machine}:${pid}:${start}:`])
    assert.is(isProcessGone(text), false, text)
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await once(child, 'spawn')
  const name = `p:${machine}:${child.pid}:`
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.is(isProcessGone(`${name}1`), true)
})

processes(
  'in process: the next owner of the store goes on at once, and the record says why (RUN-53, F88)',
  async () => {
    using folder = tempFolder()
    assert.is((await runCommand([process.execPath, CHILD, folder.path, 'here', 'die'])).signal, 'SIGKILL')
    const ended = await runCommand([process.execPath, CHILD, folder.path, 'here'])
    const { output, waitedMs, waitsMs } = JSON.parse(ended.stdout)
    assert.is(output, 2, ended.stderr)
    assert.equal(waitsMs, [], 'nothing is waited for')
    assert.ok(waitedMs < FAR_BELOW_LEASE_MS, `${waitedMs} ms`)
    await using cs = await openLedger({ path: folder.file('data') })
    assert.equal(await causesOf(cs), ['owner-gone'])
  },
)

processes('over HTTP: a ledger of the same machine sees that the owner is gone (RUN-53, F88)', async () => {
  using folder = tempFolder()
  await using server = await startServer()
  const home = `${server.url} ${await server.token()}`
  assert.is((await runCommand([process.execPath, CHILD, folder.path, home, 'die'])).signal, 'SIGKILL')
  const ended = await runCommand([process.execPath, CHILD, folder.path, home])
  const { output, waitedMs, waitsMs } = JSON.parse(ended.stdout)
  assert.is(output, 2, ended.stderr)
  assert.equal(waitsMs, [], 'nothing is waited for')
  assert.ok(waitedMs < FAR_BELOW_LEASE_MS, `${waitedMs} ms`)
})

async function causesOf(cs: Countersign): Promise<unknown[]> {
  let text = ''
  for await (const portion of cs.export('order')) text += portion
  const records = text.split('\n').flatMap((line) => (line.includes('ToolCallInDoubt') ? [JSON.parse(line)] : []))
  return records.map(({ data }) => data.cause)
}

processes.run()

for (const { name, open } of HOMES) {
  const owned = suite(`a run whose owner may live ${name}`)

  /** Dies over a call under a lease of a minute, by a name that nobody can prove dead. */
  const dies = async (connection: Connection, life: (cs: Countersign) => Promise<unknown>, open: Opened) => {
    const { change, dead } = killedAfter(2, true)
    life(open(change)).catch(() => undefined)
    await within(dead, 'the death')
    assert.is((await connection.calls('r'))[0]?.status, 'claimed')
  }
  type Opened = (change: (connection: Connection) => Connection) => Countersign

  owned(
    'is refused, or taken over: its calls are in doubt then, as an event says, and the old owner may settle (RUN-54)',
    async () => {
      await using home = await open()
      let effects = 0
      const life = (whenOwned?: 'refuse' | 'take-over') => (cs: Countersign) => {
        const charge = cs.tool(() => ++effects, { name: 'charge' })
        return cs.run({ id: 'r', ...(whenOwned && { whenOwned }) }, () => charge())
      }
      await dies(home.connection, life(), (change) => home.process(change))
      const before = effects
      const refused = await rejection(life('refuse')(home.process()))
      assert.is(codeOf(refused), 'run-owned')
      const [call] = await home.connection.calls('r')
      assert.is(call?.status, 'claimed', 'a refusal ends nothing')
      const doubt = await rejection(life('take-over')(home.process()))
      assert.is(codeOf(doubt), 'call-in-doubt')
      assert.is(outcomeOf(doubt)?.status, 'OPEN')
      const causes: unknown[] = []
      for await (const { data } of home.connection.events('r', 'ToolCallInDoubt')) causes.push(data.cause)
      assert.equal(causes, ['taken-over'])
      assert.is(effects, before, 'nothing ran again')
      const settle = { kind: 'settle', callId: String(call?.callId), body: { fence: 1, result: 1 } } as const
      assert.ok((await home.connection.execute('r', settle)).ok, 'the best evidence is taken')
      assert.is(await life('refuse')(home.process()), 1)
    },
  )

  owned('is waited for, and never silently (RUN-54)', async () => {
    await using home = await open()
    const notices: WaitNotice[] = []
    const life = (cs: Countersign) => {
      const look = cs.tool(() => 1, { name: 'look', onUnknown: 'retry', leaseMs: 3_000 })
      return cs.run({ id: 'r' }, () => look())
    }
    await dies(home.connection, life, (change) => home.process(change))
    const onWait = (notice: WaitNotice): void => {
      notices.push(notice)
      home.clock.nowMs += 60_000
    }
    assert.is(await life(home.process(undefined, { onWait })), 1)
    assert.equal(
      notices.map(({ runId, tool }) => [runId, tool]),
      [['r', 'look']],
    )
  })

  owned('the lease of a value is the author’s to say', async () => {
    await using home = await open()
    await home.process().run({ id: 'r' }, async (run) => {
      await run.once('a', () => 1, { leaseMs: 1_000 })
      await run.now({ leaseMs: 2_000 })
      await run.uuid({ leaseMs: 3_000 })
    })
    const leases: unknown[] = []
    for await (const { data } of home.connection.events('r', 'ToolCallClaimed')) leases.push(data.leaseMs)
    assert.equal(leases, [1_000, 2_000, 3_000])
  })

  owned.run()
}
