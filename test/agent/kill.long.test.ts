import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runCommand } from '../support/command-line.ts'
import { bundledProgram } from '../support/program.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { lived, type Scenario } from './killed-life.ts'

const kill = suite('a killed process')

const CHILD = bundledProgram('test/agent/kill-child.js')

interface Story {
  readonly signal: unknown
  readonly said: readonly unknown[]
  readonly effects: readonly string[]
}

/** A process that dies, and lives after it in this one, one after another. They wait for leases to be over: the stories go on side by side. */
async function storyOf(scenario: Scenario, lives: number): Promise<Story> {
  using folder = tempFolder()
  const { signal } = await runCommand([process.execPath, CHILD, folder.path, scenario])
  const said: unknown[] = []
  for (let life = 0; life < lives; life += 1) said.push(await lived(scenario, { folder: folder.path, dies: false }))
  return { signal, said, effects: readFileSync(folder.file('effects'), 'utf8').trim().split('\n') }
}

const STORIES = {
  blind: storyOf('blind', 1),
  checked: storyOf('checked', 2),
  uuid: storyOf('uuid', 1),
  undo: storyOf('undo', 1),
  branch: storyOf('branch', 2),
  unwind: storyOf('unwind', 2),
  model: storyOf('model', 1),
}

kill('between effect and settle: without a check the call is in doubt, and the effect is one', async () => {
  const { signal, said, effects } = await STORIES.blind
  assert.is(signal, 'SIGKILL')
  assert.equal(said, [{ code: 'call-in-doubt', status: 'OPEN' }])
  assert.is(effects.length, 1)
})

kill('between effect and settle: a check finds the effect, and the run goes on to its recorded end', async () => {
  const { said, effects } = await STORIES.checked
  assert.equal(said, [{ output: 'paid order' }, { output: 'paid order' }])
  assert.is(effects.length, 1)
})

kill('resumed with a fresh uuid in the arguments: refused, one effect', async () => {
  const { said, effects } = await STORIES.uuid
  assert.equal(said, [{ code: 'resume-diverged', status: 'OPEN' }])
  assert.is(effects.length, 1)
})

kill('between compensations: the rollback goes on, and undoes each call once', async () => {
  const { said, effects } = await STORIES.undo
  assert.equal(said, [{ code: 'run-rolled-back', status: 'COMPENSATED' }])
  assert.equal(effects, ['undo 3', 'undo 2', 'undo 1'])
})

/** Without the keys. */
const deeds = (effects: readonly string[]) => effects.map((line) => line.split(' ').slice(0, 2).join(' ')).sort()

kill('in a fork: resumed, each call has one effect, what lost is undone, and the winner stays the winner', async () => {
  for (const story of [STORIES.branch, STORIES.unwind]) {
    const { signal, said, effects } = await story
    assert.is(signal, 'SIGKILL')
    assert.equal(said, [{ output: ['Palace'] }, { output: ['Palace'] }])
    assert.equal(deeds(effects), ['book Inn', 'book Palace', 'cancel Inn'])
  }
})

kill("between a model's answer and its settle: charged as an estimate, called again, and the run ends", async () => {
  const { signal, said, effects } = await STORIES.model
  assert.is(signal, 'SIGKILL')
  const money = ['BudgetReserved', 'ReservationExpired', 'BudgetReserved', 'UsageRecorded']
  assert.equal(said, [{ output: ['said', ...money] }])
  assert.is(effects.length, 2)
})

kill.run()
