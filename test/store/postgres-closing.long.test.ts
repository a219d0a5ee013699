import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { collected, endOf, spawnTracked } from '../support/command-line.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { bundledProgram } from '../support/program.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('postgres store: closing')
const CHILD = bundledProgram('test/store/postgres-closing-child.js')

test('a store whose server is away closes, in a process that nothing else holds, and ends it as it should (F322)', async () => {
  const server = await startPostgres()
  const url = await newPostgresUrl(server)
  const child = spawnTracked([process.execPath, CHILD, url], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, ended] = [collected(child), endOf(child)]
  await eventually(() => (output.stdout.includes('open') ? true : undefined), 'the open store')
  await server.kill()
  assert.equal(await within(ended, 'the end of the process'), { code: 0, signal: null }, output.stderr)
  assert.equal(output.stdout.trim().split('\n'), ['open', 'closed'])
})

test.run()
