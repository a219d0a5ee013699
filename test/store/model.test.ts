import fc from 'fast-check'
import { suite } from 'uvu'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { rounds } from '../support/rounds.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { type RealStore, storeCommands } from './model.ts'

const test = suite('event stores against a model')

async function agrees(setUp: () => Promise<RealStore>, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(storeCommands, async (commands) => {
      const real = await setUp()
      try {
        await fc.asyncModelRun(() => ({ model: { events: [] }, real }), commands)
      } finally {
        await real.store[Symbol.asyncDispose]()
      }
    }),
    { numRuns },
  )
}

test('in whatever order it is used, the memory store agrees with a plain list', async () => {
  await agrees(async () => ({ store: openMemoryStore({ pageRecords: 3 }) }), rounds(60, 200, 1_000))
})

test('in whatever order it is used and reopened, the sqlite store agrees with a plain list', async () => {
  using folder = tempFolder()
  let stores = 0
  await agrees(
    async () => {
      stores += 1
      const path = folder.file(`${stores}.sqlite`)
      const reopen = () => openSqliteStore({ path, limits: { groupRecords: 6 } })
      return { store: await reopen(), reopen }
    },
    rounds(5, 60),
  )
})

test.run()
