import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AgentError, type AgentErrorCode, InDoubt, type LedgerErrorCode, LedgerRefused } from '../../src/agent/index.ts'
import { LedgerError, UnreachableError } from '../../src/client/index.ts'

const test = suite('codes of errors')

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles where the two types are one. */
const same = <A, B>(_: Same<A, B>): void => undefined
/** The members of a union that no `case` can name: `string`, or a pattern. */
type Unnameable<C extends string> = C extends C ? (Record<never, never> extends Record<C, 1> ? C : never) : never

/** Compiled, never run. */
function compiled(refused: LedgerRefused, own: AgentError, answered: LedgerError): string {
  same<typeof refused.code, LedgerErrorCode>(true)
  same<typeof answered.code, LedgerErrorCode>(true)
  same<typeof own.code, AgentErrorCode>(true)
  same<Unnameable<AgentErrorCode>, never>(true)
  same<Unnameable<LedgerErrorCode>, never>(true)
  // @ts-expect-error no error has this code
  void (answered.code === 'run-not-fuond')
  // @ts-expect-error nor is one made with it
  void new AgentError('run-not-fuond', '')
  const { code } = own as AgentError & { readonly code: 'run-waiting' | 'run-owned' | 'call-in-doubt' }
  switch (code) {
    case 'run-waiting':
    case 'run-owned':
      return 'later'
    case 'call-in-doubt':
      return 'look'
  }
}

test('a `switch` over the codes of errors of the client and of the runtime is exhausted by their names (A424)', () => {
  assert.type(compiled, 'function')
  const evidence = { callId: 'c', runId: 'r', tool: 't' }
  assert.is(new InDoubt(evidence).code, 'call-in-doubt')
  assert.is(new LedgerRefused({ code: 'budget-exceeded', detail: '', evidence: {} }).code, 'budget-exceeded')
  assert.is(new LedgerError(404, { code: 'run-not-found' }).code, 'run-not-found')
  assert.is(new UnreachableError('').code, 'unreachable')
})

test('an answer that names no code, such as a proxy gives, has a code of its own and its status; one of a newer ledger is kept as it is (A424)', () => {
  const { code, status } = new LedgerError(502, {})
  assert.equal([code, status], ['http-error', 502])
  assert.is(String(new LedgerError(409, { code: 'of-a-newer-ledger' }).code), 'of-a-newer-ledger')
})

test.run()
