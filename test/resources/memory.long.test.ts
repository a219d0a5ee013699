import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createRateLimiter } from '../../src/access/rates.ts'
import { NO_NOTES, openStore } from '../../src/compose/compose-stores.ts'
import { defaultBudgetBytes, machineMemory } from '../../src/resources/machine-memory.ts'
import { MemoryAccount, MemoryBudget, SHARES, weigh, weighAfter } from '../../src/resources/memory-budget.ts'
import { readSettings } from '../../src/settings/config.ts'
import { SettingsError } from '../../src/settings/settings-error.ts'
import { createRunKeys } from '../../src/signing/key-ring.ts'
import { appendOf } from '../support/records.ts'
import { tempFolder } from '../support/temp-folder.ts'

const MIB = 1024 * 1024
const memory = suite('memory budget')

memory('all shares together leave at least a third of the budget to the engine, and none is empty (F36)', () => {
  const percent = Object.values(SHARES).reduce((sum, share) => sum + share.percent, 0)
  assert.ok(percent <= 66, `${percent} percent`)
  const budget = new MemoryBudget(128 * MIB)
  for (const { name, limitBytes } of budget.snapshot()) assert.ok(limitBytes >= MIB, `${name}: ${limitBytes}`)
})

memory('an account never holds more than its limit, but for one that is alone in it, and ends empty (F36)', () => {
  const step = fc.record({
    bytes: fc.integer({ min: 0, max: 60 }),
    owner: fc.constantFrom('a', 'b'),
    back: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const account = new MemoryAccount(100)
      const held: { bytes: number; owner: string; release: () => void }[] = []
      for (const { bytes, owner, back } of steps) {
        if (back) {
          const first = held.shift()
          first?.release()
          first?.release()
        }
        const release = account.take(bytes, owner)
        if (release !== undefined) held.push({ bytes, owner, release })
        const sum = held.reduce((all, each) => all + each.bytes, 0)
        assert.is(account.usedBytes, sum)
        assert.ok(sum <= 100 || held.filter((each) => each.bytes > 0).length === 1)
        const own = held.filter((each) => each.owner === owner && each.bytes > 0)
        assert.ok(own.length < 2 || own.reduce((all, each) => all + each.bytes, 0) <= 50, 'half of it for one owner')
      }
      for (const { release } of held) release()
      assert.is(account.usedBytes, 0)
    }),
  )
})

memory('who waits for room is let in, in turn, as room is returned (F36)', async () => {
  const account = new MemoryAccount(100)
  const first = await account.whenFree(80)
  const order: string[] = []
  const enter = async (name: string, bytes: number): Promise<() => void> => {
    const release = await account.whenFree(bytes)
    order.push(name)
    return release
  }
  const big = enter('big', 90)
  const small = enter('small', 10)
  await new Promise(setImmediate)
  assert.equal(order, [], 'a small one does not pass a large one that came before it')
  first()
  ;(await big)()
  ;(await small)()
  assert.equal(order, ['big', 'small'])
  assert.is(account.usedBytes, 0)
})

memory('the weight of a value is no less than what the engine takes for it (F37)', () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const values = {
    texts: () => Array.from({ length: 2_000 }, (_, i) => `${i} ${'x'.repeat(40)}`),
    lists: () => Array.from({ length: 20_000 }, () => []),
    objects: () => Array.from({ length: 20_000 }, () => ({})),
    rows: () => Array.from({ length: 5_000 }, (_, i) => ({ id: `${i}`, price: i / 7, tags: ['a', 'b'] })),
    keys: () => Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`key ${i}`, i])),
  }
  for (const [name, make] of Object.entries(values)) {
    const text = JSON.stringify(make())
    const kept: unknown[] = []
    gc()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < 8; i += 1) kept.push(JSON.parse(text))
    gc()
    const used = (process.memoryUsage().heapUsed - before) / 8
    const weight = weigh(kept[0])
    assert.ok(weight >= 0.9 * used, `${name}: ${weight} for ${used}`)
    assert.ok(weight >= text.length, name)
  }
})

memory('the weight after a change of members is the weight of the whole', () => {
  const object = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'constructor', '__proto__'), fc.jsonValue())
  fc.assert(
    fc.property(object, object, fc.boolean(), (before, now, isKept) => {
      // Members that stand as they stood are the same objects.
      const after = isKept ? { ...before, ...now } : now
      assert.is(weighAfter(after, before, weigh(before)), weigh(after))
    }),
  )
})

function cgroup(files: Readonly<Record<string, string>>) {
  const folder = tempFolder()
  for (const [name, text] of Object.entries(files)) {
    const file = folder.file(name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  return { root: `${folder.path}/`, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

memory('the default is half of what the container allows, in either version of cgroups (F36)', () => {
  const limit = `${256 * MIB}\n`
  const v2 = { 'proc/self/cgroup': '0::/pod/app\n', 'sys/fs/cgroup/pod/memory.max': limit }
  const inside = { 'proc/self/cgroup': '0::/\n', 'sys/fs/cgroup/memory.max': limit }
  const v1 = {
    'proc/self/cgroup': '9:name=systemd:/\n4:cpu,memory:/docker/1\n',
    'sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes': limit,
  }
  for (const files of [v2, inside, v1]) {
    using place = cgroup(files)
    const found = machineMemory(place.root)
    assert.is(found.containerBytes, 256 * MIB)
    assert.is(defaultBudgetBytes({ ...found, heapBytes: 1024 * MIB }), 128 * MIB)
  }
  using none = cgroup({ 'proc/self/cgroup': '0::/\n', 'sys/fs/cgroup/memory.max': 'max\n' })
  assert.is(machineMemory(none.root).containerBytes, undefined)
  assert.is(defaultBudgetBytes({ machineBytes: 8_000, containerBytes: undefined, heapBytes: 4_000 }), 3_000)
})

memory('a size is read with its unit; one too small is refused by name (F36)', () => {
  const bytes = (text: string) => readSettings({ memory: text }, {}).memoryBytes
  assert.equal(
    [bytes('512MiB'), bytes('2GiB'), bytes('200 MB'), bytes('268435456')],
    [512 * MIB, 2048 * MIB, 2e8, 256 * MIB],
  )
  for (const text of ['64MiB', '1TB', '-1', 'half', '1.5GiB']) {
    assert.throws(
      () => bytes(text),
      (error: Error) => error instanceof SettingsError && error.message.includes('--memory'),
    )
  }
})

memory('names that are limited in rate, and keys of runs, are remembered by their bytes (F36)', () => {
  const limiter = createRateLimiter({ perSecond: 1, burst: 1 }, 10_000)
  for (let i = 0; i < 10_000; i += 1) limiter.take(`tenant ${i} ${'x'.repeat(200)}`, 0)
  assert.ok(limiter.bytes > 5_000 && limiter.bytes <= 10_000, `${limiter.bytes}`)

  const key = { kid: 'k', secret: Buffer.alloc(32, 1), created: '2024-01-01T00:00:00.000Z' }
  const keys = createRunKeys({ keys: [key] } as never, { maxBytes: 64 * 1024 })
  for (let i = 0; i < 1_000; i += 1) assert.ok(keys.keyFor('k', 'acme', `run-acme.r${i}`) !== undefined)
  assert.ok(keys.bytes > 0 && keys.bytes <= 64 * 1024, `${keys.bytes}`)
})

memory('what waits for the disk is shown in its share until it is written (F36)', async () => {
  const budget = new MemoryBudget()
  const used = () => budget.snapshot().find(({ name }) => name === 'append-queue')?.usedBytes ?? -1
  using folder = tempFolder()
  await using store = await openStore(
    { kind: 'sqlite', path: folder.file('store.db') },
    { ring: NO_NOTES, memory: budget },
  )
  assert.is(used(), 0)
  const written = store.append(appendOf('a', -1))
  assert.ok(used() > 0)
  assert.is((await written).kind, 'appended')
  assert.is(used(), 0)
})

memory.run()
