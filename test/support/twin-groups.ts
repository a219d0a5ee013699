/** @module Parts of a twin's program: contexts, sagas, forks, runs within runs, agents. */
import { agent } from '../../src/agent/loop/agent.ts'
import { ScriptedModel } from '../../src/agent/loop/scripted-model.ts'
import { ToolError } from '../../src/agent/loop/tool-error.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import { caught, chosen, type Part, type PartOf, type Tool } from './twin-part.ts'
import { NotFound, normal, seen, shown } from './twin-programs.ts'

const CONTEXTS: readonly ((run: Run<unknown>, part: Part) => Promise<void>)[] = [
  async (run, { see, i, text }) => {
    for (const n of [1, 2]) await run.handoff({ n, i, z: text('n') }, { agent: 'author' })
    see('rewound', normal(shown(await run.rollback())))
    see('context', (await run.context()).context)
    see('no such step', await caught(run.rollback({ toStep: 999 })))
  },
  async (run, { see, i, text }) => {
    await run.handoff({ [`kept${i}`]: 1 }, { agent: 'author', mode: 'merge' })
    const limits = { writes: ['alpha'] }
    const made = run.step(`bound${i}`, () => ({ beta: text('b') }), { manifest: limits } as never)
    see('beyond its manifest', await caught(made))
    see('context', (await run.context()).context)
  },
  async (run, { see, i, text }) => {
    const made = await run.step(`writer${i}`, (context) => ({
      [`draft${i}`]: [text('draft'), JSON.stringify(context).length > 0],
    }))
    see('step', made.payload)
    see('context', (await run.context()).context)
  },
]

function forkOf(part: Part, call: Tool, run: Run<unknown>) {
  const { which, i, text } = part
  const does = (name: string, output: () => unknown) => ({
    name,
    agent: name,
    run: async (_: unknown, branch: { run: Run<unknown> }) => {
      await call(name)
      await branch.run.once('own', () => name)
      return output()
    },
  })
  const fails = (name: string) =>
    does(name, () => {
      throw new NotFound(name)
    })
  const ways = [
    {
      branches: ['p', 'q'].map((n) => does(n, () => ({ [`${n}${i}`]: text(n) }))),
      options: { join: 'union', agent: 'author' },
    },
    { branches: ['p', 'q'].map((n) => does(n, () => ({ same: n, i }))), options: { join: 'union' } },
    { branches: [fails('p'), does('q', () => ({ [`q${i}`]: text('q') }))], options: { join: 'first_wins' } },
    {
      branches: ['p', 'q'].map((n) => does(n, () => ({ [`v${i}`]: n }))),
      options: { join: 'vote', score: ({ [`v${i}`]: v }: Record<string, unknown>) => (v === 'q' ? 2 : 1) },
    },
    { branches: [fails('p'), fails('q')], options: { join: 'vote', onDiscard: 'keep' } },
    { branches: [does('p', () => ({ [`p${i}`]: 1 })), fails('q')], options: { join: 'union', onDiscard: 'keep' } },
  ]
  const { branches, options } = chosen(ways, which)
  return run.fork(branches as never, options as never)
}

/** Which receipts say it in which words hangs on who was first where one wins. */
const forked: PartOf = (part) => {
  const { which, see, tool, world, text } = part
  const call = tool('branch', (what: string) => [what, world.act() > 0, text('r')], {
    dedupe: 'position',
    compensate: () => world.undo(),
  })
  return async (run) => {
    try {
      const { output, winners, order, receipts, unwound } = await forkOf(part, call, run)
      see('fork', { output, winners })
      const undone = await unwound
      if (which % 6 !== 2)
        see('receipts', {
          order,
          receipts: receipts.map(({ receipt: _, ...rest }) => rest),
          undone: undone.map(({ branch, status }) => [branch, status]),
        })
    } catch (error) {
      const { receipts = [] } = error as { receipts?: readonly { branch: string; status: string }[] }
      see('fork failed', [seen(error), receipts.map(({ branch, status }) => [branch, status])])
    }
    see('context', (await run.context()).context)
  }
}

const saga: PartOf = ({ which, see, tool, world, text, gives }) => {
  const undo = (): void => world.undo()
  const act = tool('act', (what: string) => ({ what, n: world.act() > 0, gives }), { compensate: undo })
  const second = (name: string): boolean => {
    if (world.isFirst(`${name} ${which}`)) throw new NotFound(name)
    return world.act() > 0
  }
  const flaky = tool('flaky', () => second('flaky'), { retries: 1, compensate: undo })
  const fails = tool('fails', () => Promise.reject(new NotFound({ a: text('why') })))
  const again = tool('again', () => Promise.reject(new NotFound('again')), { retries: 1, retryScope: 'transaction' })
  const stuck = tool('stuck', () => world.act() > 0, {
    compensationRetries: 0,
    compensate: () => Promise.reject(new Error('no way back')),
  })
  const stands = tool('stands', () => world.act() > 0, { compensate: undefined })
  const denied = tool('denied', (n: number) => [world.act() > 0, n], { approve: true, compensate: undo })
  const ways = [
    [{ tool: act, args: [text('a')] }, [{ tool: act, args: ['b'] }, { tool: flaky }], { tool: act, args: [text('c')] }],
    [
      { tool: act, args: [text('a')] },
      { tool: fails, onFailure: 'continue' },
      { tool: act, args: ['b'] },
    ],
    [{ tool: act, args: [text('a')] }, { tool: stuck }, [{ tool: act, args: ['b'] }, { tool: fails }]],
    [{ tool: act, args: [text('a')] }, { tool: again }],
    [{ tool: stands }, { tool: act, args: ['a'] }, { tool: fails }],
    [
      { tool: act, args: ['a'] },
      { tool: denied, args: [1] },
    ],
  ]
  return async (run) => {
    see('saga', await run.saga(chosen(ways, which) as never))
    see('id', (await run.uuid()).length)
    see('after', await act('after'))
  }
}

const nested: PartOf = (part) => {
  const { which, i, cs, see, tool, world, text, gives } = part
  const act = tool('deed', (what: string) => [what, world.act() > 0], { compensate: () => world.undo() })
  const child = (name: string, body: (run: Run<unknown>) => unknown, input: unknown = { z: 1, a: 2 }) =>
    cs.run({ name: `${name}${i}`, input } as never, body as never)
  const around = tool('around', async () => [
    await act('around'),
    await child('within', async () => [await act('in it'), text('o')]),
  ])
  const ways: readonly (() => Promise<unknown>)[] = [
    () =>
      child('plain', async (run) => [run.input, await act('in it'), await run.once('own', () => gives)], text('input')),
    () => caught(child('fails', async () => [await act('in it'), await Promise.reject(new NotFound({ a: 1 }))])),
    () => child('deep', async () => [await act('outer'), await child('deeper', () => act('inner')), text('out')]),
    () => around(),
    () =>
      caught(
        child('catches', async () =>
          caught(
            child('broken', async (run) => [
              await act('in it'),
              await run.sleep(2),
              await Promise.reject(new Error('broken')),
            ]),
          ),
        ),
      ),
    () =>
      Promise.all(['p', 'q'].map((name) => child(name, async (run) => [await act(name), await run.sleep(1), name]))),
    () =>
      child('waits', async (run) => [
        await caught(run.waitFor('never', { until: 3 })),
        await run.handoff({ n: i }, { agent: 'child' }).then(({ ok }) => ok),
      ]),
    () => child('saga', async (run) => (await run.saga([{ tool: act as never, args: ['s'] }])).status),
    () =>
      caught(
        child('other', async () => [
          await act('in it'),
          await Promise.reject({ code: 'E_PLAIN', message: 'a plain object' }),
        ]),
      ),
  ]
  const way = chosen(ways, which)
  return async () => see('nested', await way())
}

const agents: PartOf = ({ which, i, see, tool, world, text }) => {
  const parameters = { type: 'object' }
  const looks = tool('looks', (args: unknown) => [args, world.act() > 0, text('seen')], { parameters })
  const breaks = tool('breaks', () => Promise.reject(new ToolError('no room')), { parameters })
  const continues = tool('continues', () => Promise.reject(new NotFound('c')), { parameters, onFailure: 'continue' })
  const model = new ScriptedModel([
    { tool: `looks${i}`, args: { z: 1, a: which } },
    [{ tool: `looks${i}`, args: { q: 2 } }, { tool: `breaks${i}` }, { tool: `continues${i}` }, { tool: 'unknown' }],
    `answer ${which}`,
  ])
  const tools = [looks, breaks, continues] as never
  return async () => {
    const guide = agent({ model, tools, name: `agent${i}`, system: 'be brief' })
    if (which % 2 === 0) see('agent', await guide.generate({ prompt: text('go') }))
    else for await (const each of guide.stream({ prompt: text('go') })) see('part', each)
  }
}

export const GROUPS = {
  contexts: (part) => (run) => chosen(CONTEXTS, part.which)(run, part),
  saga,
  fork: forked,
  nested,
  agents,
} satisfies Record<string, PartOf>
