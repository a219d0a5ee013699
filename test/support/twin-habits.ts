/** @module Parts of a twin's program as their authors write them: errors of their own, pools, maps, frozen objects, locks that are released by `await using`, retries by hand, classes with state. */
import { EventEmitter } from 'node:events'
import type { Run } from '../../src/agent/runtime/run.ts'
import { caught, chosen, type PartOf } from './twin-part.ts'
import { seen } from './twin-programs.ts'

class ShopError extends Error {
  readonly details: object

  constructor(message: string, details: object) {
    super(message)
    this.name = new.target.name
    this.details = details
  }

  toJSON(): object {
    return { error: this.name, message: this.message, ...this.details }
  }
}

class SoldOut extends ShopError {}

interface Line {
  readonly sku: string
  readonly qty: number
}

/** Lines side by side, some of which fail; what came of them as JSON, errors included, and on into the next call. */
const shop: PartOf = ({ which, i, see, tool, world, text }) => {
  const reserve = tool(
    'reserve',
    ({ qty, sku }: Line) => {
      world.act()
      if (qty > 2) throw new SoldOut(`${sku} is sold out`, { sku, left: { qty: 2, at: ['z', 'a'] } })
      return { sku, qty, cents: 990 * qty, at: new Date(0), note: undefined }
    },
    { errors: [SoldOut], compensate: () => world.undo() },
  )
  const mail = tool('mail', (letter: string) => [letter.length, world.act() > 0])
  return async () => {
    const beganMs = Date.now()
    const lines = ['tea', 'jam', 'oil'].map((sku, n) => Object.freeze({ sku: `${sku}${i}`, qty: n + 1 + (which % 2) }))
    const results = await Promise.allSettled(lines.map((line) => reserve(line)))
    const failed = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
    see(
      'kinds',
      failed.map((error) => [error instanceof SoldOut, error instanceof ShopError, seen(error)]),
    )
    const letter = JSON.stringify({ results, failed, text: text('dear') })
    see('mailed', [letter, await mail(letter)])
    see('in time', Date.now() - beganMs < 3_600_000)
    if (which % 3 === 0 && failed.length > 0) throw new ShopError('the order failed', { lines: lines.length })
  }
}

/** As many know it from a package. */
function limited(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= most) await new Promise<void>((go) => waiting.push(go))
    running += 1
    try {
      return await work()
    } finally {
      running -= 1
      waiting.shift()?.()
    }
  }
}

/** A pool that fills a map, which is passed on as one. */
const pooled: PartOf = ({ which, see, tool, world, text }) => {
  const page = tool('page', async (url: string) => {
    world.act()
    await new Promise((go) => setImmediate(go))
    if (url.endsWith('4')) throw new TypeError(`no ${url}`)
    return { url, words: url.length, at: new Date(1_000), body: text('b') }
  })
  const index = tool('index', (pages: ReadonlyMap<string, unknown>) => {
    world.act()
    return new Map([...pages].map(([url, words]) => [url, { words, seen: true }]))
  })
  return async () => {
    const limit = limited(2 + (which % 2))
    const pages = new Map<string, unknown>()
    const tried = await Promise.allSettled(
      Array.from({ length: 4 + (which % 3) }, (_, n) =>
        limit(async () => {
          const { url, words } = (await page(`/page/${n}`)) as { url: string; words: number }
          pages.set(url, words)
          return words
        }),
      ),
    )
    see(
      'pages',
      tried.map((each) => (each.status === 'fulfilled' ? each.value : seen(each.reason))),
    )
    const sorted = new Map([...pages].sort(([a], [b]) => (a < b ? -1 : 1)))
    const indexed = (await index(sorted)) as Map<string, unknown>
    see('index', indexed)
    indexed.set('/mine', 0)
    see('again', await index(sorted))
  }
}

/** Runs within the run, one for each city, whose errors the outer one sorts. */
const trips: PartOf = ({ which, i, cs, see, tool, world }) => {
  const book = tool('book', (hotel: string) => [hotel, world.act() > 0], { compensate: () => world.undo() })
  const trip = async (run: Run<{ city: string; nights: number }>): Promise<unknown> => {
    const { city, nights } = run.input
    const stays = []
    for (let night = 0; night < nights; night += 1) stays.push(await book(`${city} ${night}`))
    if (city.startsWith('Rome') && which % 2 === 0) throw new SoldOut('no room', { city })
    return { stays, city, id: run.id.length > 0 }
  }
  return async () => {
    const cities = ['Oslo', 'Rome', 'Bern'].map((city, n) => ({ city: `${city}${i}`, nights: n }))
    const all = await Promise.allSettled(cities.map((input) => cs.run({ name: `trip${i}`, input }, trip as never)))
    see(
      'trips',
      all.map((each) => (each.status === 'fulfilled' ? JSON.stringify(each.value) : seen(each.reason))),
    )
    const one = { name: `trip${i}`, input: { city: 'Wien', nights: 1 } }
    see('one more', await caught(cs.run(one as never, trip as never)))
  }
}

/** Objects that are frozen, changed, sorted in place, and of classes. */
const objects: PartOf = ({ which, see, tool, world, gives, text }) => {
  class Money {
    readonly cents: number
    constructor(cents: number) {
      this.cents = cents
    }
    toJSON(): string {
      return `${this.cents} cents`
    }
  }
  const keep = tool('keep', (what: { list: number[] }) => {
    world.act()
    // A tool that sorts what it is given.
    what.list.sort((a, b) => a - b)
    return { ...what, money: new Money(5), none: undefined, minus: -0, text: text('t'), gives }
  })
  const nothing = tool('nothing', () => void world.act())
  return async (run) => {
    const asked = Object.freeze({ list: [3, 1, 2], deep: Object.freeze({ z: 1, a: [Object.freeze({ b: null })] }) })
    const kept = (await keep(asked)) as { list: number[]; deep?: object }
    see('kept', JSON.stringify(kept))
    see('asked', asked)
    kept.list.reverse()
    delete kept.deep
    see('changed', [kept, await keep(asked)])
    see('nothing', [await nothing(), await run.once('nothing', () => undefined)])
    see('class', await caught(keep({ list: [], money: new Money(which) })))
    see('cycle', await caught(keep(Object.assign({ list: [] }, which % 2 === 0 ? { big: 10n } : { gap: undefined }))))
    const copy = structuredClone(kept)
    see('copy', await run.once('copy', () => copy))
  }
}

/** Locks that are released at the end of a block, values that are read one by one, and retries by hand. */
const blocks: PartOf = ({ which, i, see, tool, world }) => {
  const lock = tool('lock', (name: string) => [name, world.act() > 0])
  const unlock = tool('unlock', (name: string) => [name, world.act() > 0], { dedupe: 'position' })
  const flaky = tool(
    'flaky',
    (n: number) => {
      world.act()
      if (n < 2) throw new SoldOut(`not at ${n}`, { n })
      return { n }
    },
    { errors: [ShopError, SoldOut] },
  )
  const locked = async (name: string) => {
    await lock(name)
    return { [Symbol.asyncDispose]: async () => void (await unlock(name)) }
  }
  async function* numbers(run: Run<unknown>): AsyncGenerator<number, void> {
    try {
      for (let n = 0; n < 5; n += 1) yield (await run.once(`number ${n}`, () => n * n)) as number
    } finally {
      await unlock(`numbers${i}`)
    }
  }
  return async (run) => {
    for (let attempt = 0; ; attempt += 1) {
      await using _held = await locked(`retry${i}`)
      try {
        see('flaky', await flaky(attempt))
        break
      } catch (error) {
        if (!(error instanceof SoldOut) || attempt > 3) throw error
        see('again', [attempt, error.details])
        await run.sleep(1)
      }
    }
    let sum = 0
    for await (const n of numbers(run)) {
      sum += n
      if (sum > 3 + which) break
    }
    see('sum', sum)
    await using _last = await locked(`last${i}`)
    if (which % 3 === 0) throw new SoldOut('in the block', { i })
  }
}

/** An agent as a class: private state, methods as tools, events for its progress. */
class Desk extends EventEmitter {
  readonly #handled: string[] = []
  readonly #act: () => number

  constructor(act: () => number) {
    super()
    this.#act = act
  }

  async handle(ticket: { id: string; tags?: readonly string[] }, priority = 1): Promise<object> {
    this.#act()
    this.emit('progress', ticket.id)
    return { ticket: ticket.id, tags: [...(ticket.tags ?? [])].sort(), priority }
  }

  note(id: string): string {
    this.#handled.push(id)
    return this.#handled.join()
  }
}

const classes: PartOf = ({ which, i, see, tool, world }) => {
  const desk = new Desk(() => world.act())
  const handle = tool('handle', desk.handle.bind(desk) as never)
  const close = tool('close', (notes: string) => [notes, world.act() > 0])
  return async (run) => {
    // A second life begins with none of what the first had in memory.
    const own = new Desk(() => 0)
    const tickets = [{ id: `t${i}`, tags: ['z', 'a'] }, { id: `u${i}` }, { id: `v${i}`, tags: [] }]
    const notes = await tickets.reduce<Promise<string[]>>(async (before, ticket) => {
      const all = await before
      const handled = which % 2 === 0 ? await handle(ticket) : await handle(ticket, 2)
      return [...all, own.note(JSON.stringify(handled))]
    }, Promise.resolve([]))
    see('notes', notes)
    own.on('progress', (id: unknown) => see('progress', id))
    const inScope = await run.scope('late', async () => close(notes.at(-1) ?? ''))
    own.emit('progress', inScope)
    const [first] = await Promise.all([close('one'), close('two'), run.now().then((at) => at instanceof Date)])
    see('closed', first)
    see('chosen', chosen(['a', 'b'], which))
  }
}

export const HABITS = { shop, pooled, trips, objects, blocks, classes } satisfies Record<string, PartOf>
