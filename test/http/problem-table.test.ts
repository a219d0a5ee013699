import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { STATUS } from '../../src/http/problem-codes.ts'
import { PROBLEM_TEXTS } from '../../src/http/problem-texts.ts'
import { ROOT } from '../support/source-root.ts'

const test = suite('the codes of problems')

test('the page of the API lists every code with its status and what it means, and no other (A425)', () => {
  const page = readFileSync(join(ROOT, 'docs/http.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `[a-z-]+` \| \d{3} \| .* \|$/gm)].map(([row]) => row)
  const expected = Object.entries(STATUS).map(
    ([code, status]) => `| \`${code}\` | ${status} | ${PROBLEM_TEXTS[code as keyof typeof STATUS].title} |`,
  )
  assert.equal(rows, expected.sort())
})

test.run()
