/** @module Parts of a twin's program: tools with options, results in parts, values, waits, approvals. */
import type { Run } from '../../src/agent/runtime/run.ts'
import { caught, chosen, type Part, type PartOf } from './twin-part.ts'
import { NotFound, seen } from './twin-programs.ts'

const LIMIT_MS = 5
const hangs = (): Promise<never> => new Promise(() => {})

/** Sends a signal to its own run: the next wait of that name has it. */
function sending({ cs, tool, world }: Part) {
  return tool(
    'sends',
    async (runId: string, name: string, payload: unknown) => {
      const nth = world.act()
      const sent = cs.signal(runId, name, payload, { requestId: `${runId} ${nth}` })
      return sent.then(
        () => 'sent',
        (error: { code: string }) => error.code,
      )
    },
    { dedupe: 'position' },
  )
}

const WAITS: readonly ((run: Run<unknown>, part: Part & { readonly send: ReturnType<typeof sending> }) => unknown)[] = [
  async (run, { send, i, gives }) => [
    await send(run.id, `go${i}`, { n: i, gives: typeof gives }),
    await run.waitFor(`go${i}`),
  ],
  (run, { send, i }) => Promise.all([run.waitFor(`go${i}`), send(run.id, `go${i}`, { z: 1, a: i })]),
  (run, { i }) => caught(run.waitFor(`never${i}`, { until: 4 })),
  (run) => run.sleep(3),
  (run, { send, i }) =>
    Promise.all([
      run.waitFor(`go${i}`, { schema: { type: 'object' } }),
      run.scope('sender', async () => [
        await send(run.id, `go${i}`, 'no object'),
        await send(run.id, `go${i}`, { a: 1 }),
      ]),
    ]),
  async (run, { send, i }) => [
    await send(run.id, `go${i}`, 'passed over'),
    await send(run.id, `go${i}`, { a: 2 }),
    await run.waitFor(`go${i}`, { schema: { type: 'object' } }),
  ],
]

async function read(parts: AsyncIterable<unknown>, most: number): Promise<unknown[]> {
  const all: unknown[] = []
  try {
    for await (const part of parts) if (all.push(part) >= most) break
  } catch (error) {
    all.push(seen(error))
  }
  return all
}

export const CALLS = {
  /** Fails once before it is done, or at each try. */
  tries: ({ which, see, tool, world, gives }) => {
    const call = tool(
      'tries',
      () => {
        if (which % 3 === 0 || world.isFirst(`tries ${which}`)) throw new NotFound({ at: [1], b: new Date(0) })
        world.act()
        return gives
      },
      { retries: 1 + (which % 2) },
    )
    return async () => see('tries', await call(which))
  },
  /** Changes nothing: timed out, timed out once, or in time. */
  pure: ({ which, see, tool, world, text }) => {
    const call = tool(
      'pure',
      () => (which % 3 === 0 || (which % 3 === 1 && world.isFirst(`pure ${which}`)) ? hangs() : text('pure')),
      {
        effects: 'none',
        timeout: which % 3 === 2 ? 10_000 : LIMIT_MS,
        retries: which % 3,
        compensate: undefined,
        onUnknown: undefined,
      },
    )
    return async () => see('pure', await call(which))
  },
  /** Done, and not heard of: its check tells. */
  checked: ({ see, tool, world, text }) => {
    const call = tool(
      'checked',
      () => {
        world.act()
        return hangs()
      },
      {
        timeout: LIMIT_MS,
        onUnknown: 'in-doubt',
        check: (_: unknown, { idempotencyKey }: { idempotencyKey: string }) =>
          world.has(idempotencyKey) ? { done: true, result: text('found') } : { done: false },
      },
    )
    return async () => see('checked', await call(1))
  },
  position: ({ see, tool, world, text }) => {
    const call = tool('position', (what: string) => [world.act() > 0, what], { dedupe: 'position' })
    return async () => {
      for (const n of [1, 2]) see(`position ${n}`, await call(text('same')))
    }
  },
  keyed: ({ see, tool, world }) => {
    const call = tool('keyed', (n: number) => [world.act() > 0, n], { key: () => 'key' })
    return async () => {
      see('keyed', await call(1))
      see('keyed again', await call(1))
      see('keyed other', await caught(call(2)))
      see('keyed both', await Promise.all([call(1), caught(call(3))]))
    }
  },
  large: ({ see, tool, world, text, gives }) => {
    const call = tool('large', (what: string) => ({ what, n: world.act() > 0 }))
    return async (run) => {
      see('large', await call(text('argument')))
      see('large value', await run.once('large', () => ({ text: text('value'), gives })))
      see('large model', await run.model(modelOf(text)))
    }
  },
  /** Read to its end, left, or broken off. */
  stream: ({ which, see, tool, world, text }) => {
    const call = tool(
      'stream',
      async function* () {
        world.act()
        for (const n of [1, 2, 3]) {
          yield { n, z: text('part'), a: 1 }
          if (which % 3 === 1 && n === 2) throw new NotFound(n)
        }
      },
      { stream: true },
    )
    const after = tool('after', (what: unknown) => [what, world.act() > 0])
    return async () => {
      const parts = (await call(which)) as AsyncIterable<unknown>
      const all = await read(parts, which % 3 === 2 ? 1 : 9)
      see('stream', all)
      see('after', await after(all))
    }
  },
  waits: (part) => {
    const send = sending(part)
    const wait = chosen(WAITS, part.which)
    return async (run) => part.see('waits', await wait(run, { ...part, send }))
  },
  /** Somebody says yes, or no: the name tells. */
  approval: ({ which, see, tool, world, text }) => {
    const does = (n: number, _: string) => [world.act() > 0, n]
    const granted = tool('granted', does, { approve: true })
    const denied = tool('denied', does, { approve: { when: 'args[0] > 1', reason: 'dear' } })
    return async (run) => {
      if (which % 2 === 0) see('granted', await granted(1, text('page')))
      see('free', await denied(1, 'page'))
      see('denied', await caught(denied(2, text('page'))))
      if (which % 3 === 0) see('both', await Promise.all([granted(2, ''), run.once('beside', () => 1)]))
    }
  },
  values: ({ which, see, tool, world, gives }) => {
    const call = tool('valued', (at: unknown) => [at, world.act() > 0])
    return async (run) => {
      const at = await run.now()
      see('now', at)
      see('valued', await call([at.toISOString(), await run.uuid()]))
      see('once', await run.once('value', () => gives))
      see('patched', [await run.patched('one'), await run.patched('one')])
      if (which % 2 === 0) see('fails', await caught(run.once('fails', () => Promise.reject(new NotFound({ a: 1 })))))
    }
  },
  /** Places side by side, each with its own equal calls. */
  scopes: ({ see, tool, world, text }) => {
    const call = tool(
      'scoped',
      async (n: number, _: string) => {
        world.act()
        if (n === 1) await new Promise((resolve) => setTimeout(resolve, 1))
        return { n }
      },
      { dedupe: 'position' },
    )
    return async (run) => {
      const lanes = ['p', 'q', 'r'].map((name, n) =>
        run.scope(name, async (inner) => [
          await call(n, text('lane')),
          await inner.once('one', () => name),
          await call(n, ''),
        ]),
      )
      see('scopes', await Promise.all(lanes))
    }
  },
  /** Calls made inside of a call, which may fail after them. */
  inside: ({ which, see, tool, world, text }) => {
    const inner = tool('inner', (n: number) => [world.act() > 0, n], { compensate: () => world.undo() })
    const outer = tool(
      'outer',
      async (what: string) => {
        const came = [await inner(1), await Promise.all([inner(2), inner(3)])]
        if (which % 3 === 0) throw new NotFound('outer')
        return [came, what]
      },
      which % 2 === 0 ? { compensate: () => world.undo() } : {},
    )
    return async () => see('inside', await outer(text('outer')))
  },
  spends: ({ which, see, tool, world }) => {
    const costs = tool('costs', (n: number) => [world.act() > 0, n], {
      reserve: (args: readonly number[]) => ({ tokens: (args[0] ?? 1) * 10_000 }),
      usage: () => ({ tokens: 10 }),
      dedupe: 'position',
    })
    return async () => {
      see('costs', await costs(1))
      for (let n = 0; n <= which % 3; n += 1) see('too dear', await caught(costs(11_000)))
      see('costs again', await costs(2))
    }
  },
} satisfies Record<string, PartOf>

function modelOf(text: Part['text']) {
  return {
    provider: 'p',
    model: 'm',
    request: { prompt: text('ask') },
    retries: 0,
    maxOutputTokens: 10,
    price: 'free' as const,
    call: () => ({ says: text('answer') }),
  }
}
