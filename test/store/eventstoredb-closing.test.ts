import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runCommand } from '../support/command-line.ts'
import { startNode } from '../support/eventstoredb-node.ts'
import { bundledProgram } from '../support/program.ts'

const test = suite('eventstoredb store: closing')
const CHILD = bundledProgram('test/store/closing-child.js')

test('closing a store under a live subscription resolves, in a process that nothing else holds (F129)', async () => {
  await using node = await startNode()
  const { code, stdout, stderr } = await runCommand([process.execPath, CHILD, node.url])
  assert.is(code, 0, stderr)
  assert.equal(stdout.trim().split('\n'), ['caught-up', 'closed'])
})

test.run()
