import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { open } from '../../src/agent/open.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { createRuntime, type RuntimeOptions } from '../../src/agent/runtime/runtime.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { within } from '../support/within.ts'
import { codeOf, HOMES, type HomeKind, rejection, type TestHome } from './homes.ts'

const [inProcess] = HOMES as readonly [HomeKind]
const closing = suite('closing a runtime')

closing(
  'a run that is returned from under `await using` comes to its end, with all that it asks for (RUN-230)',
  async () => {
    using folder = tempFolder()
    const path = folder.file('data')
    const program = async (): Promise<unknown> => {
      await using cs = await open({ path })
      const add = cs.tool(async (n: number) => n + 1, { name: 'add', compensate: 'not-needed' })
      return cs.run({ id: 'order', name: 'order' }, async (run) => {
        const first = await add(1)
        await run.sleep(1)
        const child = await cs.run({ name: 'child' }, () => add(first))
        await cs.signal(run.id, 'go', { child })
        return [child, await run.waitFor('go'), (await run.saga([{ tool: add, args: [child] }])).status]
      })
    }
    assert.equal(await within(program(), 'the program'), [3, { child: 3 }, 'SUCCESS'])
    await using again = await open({ path })
    const statuses: unknown[] = []
    for await (const { runId, status } of again.runs()) if (runId === 'order') statuses.push(status)
    assert.equal(statuses, ['completed'], 'the store was closed after it')
  },
)

closing('so is one that fails: it is undone first, and its own error is thrown (RUN-230)', async () => {
  const undone: unknown[] = []
  const program = async (): Promise<unknown> => {
    await using cs = await open({ path: ':memory:' })
    const pay = cs.tool(async () => 'p-1', { name: 'pay', compensate: ({ result }) => void undone.push(result) })
    return cs.run({ name: 'order' }, async () => {
      await pay()
      throw new RangeError('no stock')
    })
  }
  const error = await rejection(within(program(), 'the program'))
  assert.instance(error, RangeError)
  assert.equal(undone, ['p-1'])
})

/** A runtime of its own, whose close is seen. */
function closable(
  home: TestHome,
  notices: RuntimeOptions = {},
): { readonly cs: Countersign; readonly isClosed: () => boolean } {
  let isClosed = false
  const close = async (): Promise<void> => {
    isClosed = true
  }
  const cs = createRuntime({ ...home.connection, [Symbol.asyncDispose]: close }, notices)
  return { cs, isClosed: () => isClosed }
}

for (const { name, open: openHome } of HOMES) {
  closing(`${name}: a close stops workers and waits for their runs (RUN-230)`, async () => {
    await using home = await openHome()
    const { cs, isClosed } = closable(home)
    const begun = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    let closedWithin: unknown
    const order = async (_: Run<never>): Promise<string> => {
      closedWithin = codeOf(await rejection(cs.close()))
      begun.resolve()
      await go.promise
      return cs.run({ name: 'child' }, () => 'shipped')
    }
    const worker = cs.worker({ runs: { order } })
    const { runId } = await cs.start('order')
    await within(begun.promise, 'the run of the worker')
    assert.is(closedWithin, 'recursive-call', 'code of a run of a worker cannot close it (RUN-231)')
    const closed = cs.close()
    assert.is(codeOf(await rejection(cs.run({ name: 'late' }, () => 0))), 'closed')
    assert.not.ok(isClosed(), 'its run goes on')
    go.resolve()
    await within(closed, 'the close')
    await worker.done
    assert.is((await home.connection.run(runId)).status, 'completed')
    assert.is(cs.close(), closed, 'closed once')
  })
}

for (const { name, open: openHome } of HOMES) {
  closing(`${name}: a close leaves runs that only wait, and another process resumes them (RUN-230)`, async () => {
    await using home = await openHome()
    const wait = Promise.withResolvers<void>()
    let waiting = 0
    const noted = (): void => {
      waiting += 1
      if (waiting === 3) wait.resolve()
    }
    const policy = { approve: [{ tools: ['pay'], selfApproval: true }] }
    const program = (cs: Countersign) => {
      const pay = cs.tool(async () => 'paid', { name: 'pay', compensate: 'not-needed' })
      const bodies: Readonly<Record<string, (run: Run<null>) => Promise<unknown>>> = {
        sleeps: (run) => run.sleep(3_600_000),
        waits: (run) => run.waitFor('go'),
        asks: () => pay(),
      }
      return Object.entries(bodies).map(([id, body]) => cs.run({ id, policy }, body))
    }
    const { cs } = closable(home, { onWaiting: noted, onApproval: noted })
    const left = Promise.all(program(cs).map((run) => rejection(run).then(codeOf)))
    await within(wait.promise, 'the waits')
    // An end of scope waits for them, and a close that comes later leaves them all the same.
    const ended = cs[Symbol.asyncDispose]()
    assert.is(await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 20, 'waits'))]), 'waits')
    await within(cs.close(), 'the close')
    assert.equal(await left, ['run-waiting', 'run-waiting', 'run-waiting'])
    const { cs: next } = closable(home)
    const [sleeps = Promise.resolve(), waits, asks] = program(next)
    await next.signal('waits', 'go', 7)
    for await (const { runId, approvalId, argsDigest } of next.approvals.list())
      await next.approvals.grant({ runId, approvalId, argsDigest })
    assert.equal(await within(Promise.all([waits, asks]), 'the resumed runs'), [7, 'paid'])
    const slept = rejection(sleeps).then(codeOf)
    await within(next.close(), 'the close')
    assert.is(await slept, 'run-waiting')
    assert.is((await home.connection.run('sleeps')).status, 'open')
  })
}

closing('code that closes the runtime it runs in is told so, and nothing is closed (RUN-231)', async () => {
  await using home = await inProcess.open()
  const { cs, isClosed } = closable(home)
  const closes = cs.tool(async () => codeOf(await rejection(cs.close())), { name: 'closes', effects: 'none' })
  const came = await within(
    cs.run({ name: 'order' }, async () => [
      codeOf(await rejection(cs.close())),
      await closes(),
      await cs.run({ name: 'child' }, async () => codeOf(await rejection(cs.close()))),
    ]),
    'the run',
  )
  assert.equal(came, ['recursive-call', 'recursive-call', 'recursive-call'])
  assert.not.ok(isClosed())
  // What such code has left behind is no part of the run any more.
  let later: () => Promise<void> = async () => undefined
  await cs.run({ name: 'leaves' }, () => {
    later = () => cs.close()
  })
  await later()
  assert.ok(isClosed())
})

closing('after the close each request says so, lists and tails among them (RUN-232)', async () => {
  using folder = tempFolder()
  const cs = await open({ path: folder.file('data') })
  await cs.run({ id: 'r' }, () => 1)
  const tailing = (async () => {
    let read = 0
    for await (const _ of cs.tail()) read += 1
    return read
  })().catch(codeOf)
  const waiting = rejection(cs.result('r-2')).then(codeOf)
  await cs.close()
  const all = async (items: AsyncIterable<unknown>): Promise<void> => {
    for await (const _ of items);
  }
  const asked: readonly (() => Promise<unknown>)[] = [
    () => cs.run({ id: 'r' }, () => 1),
    () => cs.saga([]),
    () => cs.start('order'),
    () => cs.result('r'),
    () => cs.recover(),
    () => cs.replay('r', () => 1),
    () => cs.signal('r', 'go'),
    () => cs.approvals.grant({ runId: 'r', approvalId: 'a', argsDigest: `sha256:${'0'.repeat(64)}` }),
    () => all(cs.runs()),
    () => all(cs.tail()),
    () => all(cs.export('r')),
    async () => cs.worker({ runs: { order: () => 1 } }),
  ]
  for (const [i, ask] of asked.entries()) assert.is(codeOf(await rejection(ask())), 'closed', `request ${i}`)
  const over = await within(Promise.all([tailing, waiting]), 'what was read meanwhile')
  assert.ok(typeof over[0] === 'number' || over[0] === 'closed', `the tail: ${over[0]}`)
})

closing.run()
