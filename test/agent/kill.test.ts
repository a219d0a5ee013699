import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runCommand } from '../support/command-line.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'

const kill = suite('a killed process')

const CHILD = fileURLToPath(new URL('./kill-child.js', import.meta.url))

async function lifeOf(folder: TempFolder, scenario: string, ...fate: string[]) {
  const { signal, stdout, stderr } = await runCommand([process.execPath, CHILD, folder.path, scenario, ...fate])
  return { signal, said: stdout === '' ? undefined : (JSON.parse(stdout) as unknown), stderr }
}

const effects = (folder: TempFolder): string[] => readFileSync(folder.file('effects'), 'utf8').trim().split('\n')

kill('between effect and settle: without a check the call is in doubt, and the effect is one', async () => {
  using folder = tempFolder()
  assert.is((await lifeOf(folder, 'blind', 'die')).signal, 'SIGKILL')
  assert.equal((await lifeOf(folder, 'blind')).said, { code: 'call-in-doubt', status: 'OPEN' })
  assert.is(effects(folder).length, 1)
})

kill('between effect and settle: a check finds the effect, and the run goes on', async () => {
  using folder = tempFolder()
  await lifeOf(folder, 'checked', 'die')
  assert.equal((await lifeOf(folder, 'checked')).said, { output: 'paid order' })
  assert.equal((await lifeOf(folder, 'checked')).said, { output: 'paid order' }, 'the recorded end')
  assert.is(effects(folder).length, 1)
})

kill('resumed with a fresh uuid in the arguments: refused, one effect', async () => {
  using folder = tempFolder()
  await lifeOf(folder, 'uuid', 'die')
  assert.equal((await lifeOf(folder, 'uuid')).said, { code: 'resume-diverged', status: 'OPEN' })
  assert.is(effects(folder).length, 1)
})

kill('between compensations: the rollback goes on, and undoes each call once', async () => {
  using folder = tempFolder()
  await lifeOf(folder, 'undo', 'die')
  assert.equal(effects(folder), ['undo 3'])
  assert.equal((await lifeOf(folder, 'undo')).said, { code: 'run-rolled-back', status: 'COMPENSATED' })
  assert.equal(effects(folder), ['undo 3', 'undo 2', 'undo 1'])
})

kill.run()
