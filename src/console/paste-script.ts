// The script of the page on which rejects are corrected, as the browser gets it: cells of a spreadsheet that are pasted fill to the right
// and down, Enter goes to the cell below, and what is typed is not left without a question. The page works without it.

import { createHash } from 'node:crypto'

export const PASTE_SCRIPT = `// Cells of a spreadsheet: tabs between cells, lines between rows, quotes around cells that have either.
function cellsOf(text) {
  const rows = [[]]
  const pattern = /(?:"((?:[^"]|"")*)"(?=\\t|\\r?\\n|$)|([^\\t\\r\\n]*))(\\t|\\r?\\n|$)/gy
  while (pattern.lastIndex <= text.length) {
    const [whole, quoted, plain, end] = pattern.exec(text) ?? ['', undefined, '', '']
    rows.at(-1).push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === '') break
    if (end !== '\\t') rows.push([])
  }
  const last = rows.at(-1)
  if (rows.length > 1 && last.length === 1 && last[0] === '') rows.pop()
  return rows
}

const at = (row, column) => document.querySelector('[data-row="' + row + '"][data-column="' + column + '"]')
const placeOf = ({ dataset }) => [Number(dataset.row), Number(dataset.column)]

let isChanged = false
document.addEventListener('input', ({ target }) => { isChanged ||= target.dataset?.row !== undefined })

document.addEventListener('paste', (event) => {
  const { target } = event
  if (target.dataset?.row === undefined) return
  const text = event.clipboardData.getData('text/plain')
  const cells = cellsOf(text)
  if (cells.length === 1 && cells[0].length === 1) {
    const bare = text.replace(/\\r?\\n$/, '')
    if (bare === text) return
    // A spreadsheet ends its last row with a line break, and puts a cell with line breaks or tabs of its own in quotes.
    event.preventDefault()
    const one = /[\\t\\r\\n]/.test(bare) ? cells[0][0] : bare
    document.execCommand(one === '' ? 'delete' : 'insertText', false, one)
    return
  }
  event.preventDefault()
  const [row, column] = placeOf(target)
  let filled = 0
  let over = 0
  cells.forEach((line, down) => line.forEach((text, right) => {
    const cell = at(row + down, column + right)
    if (cell === null || cell.readOnly) { over += 1; return }
    cell.value = text
    filled += 1
  }))
  isChanged = true
  const said = document.getElementById('pasted')
  said.textContent = said.dataset.filled.replace('#', filled) + (over > 0 ? ' ' + said.dataset.over.replace('#', over) : '')
})

document.addEventListener('keydown', (event) => {
  const { target, key, shiftKey } = event
  if (key !== 'Enter' || shiftKey || event.isComposing || target.dataset?.row === undefined) return
  event.preventDefault()
  const [row, column] = placeOf(target)
  at(row + 1, column)?.focus()
})

// Where people log in, a session may end while one types: what was typed comes back after the login, in this tab and to this person alone.
const KEPT = 'typed ' + location.pathname
const who = document.querySelector('.visitor b')?.textContent ?? ''
const versionOf = ({ name }) => document.getElementsByName('o.' + name.split('.')[1])[0]?.value

function keepTyped() {
  const cells = [...document.querySelectorAll('textarea[data-row]')]
  const typed = cells.map((cell) => [cell.name, versionOf(cell), cell.value])
  try {
    sessionStorage.setItem(KEPT, JSON.stringify({ who, typed }))
  } catch {
    // There is no room for it.
  }
}

function bringBack() {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? 'null')
  sessionStorage.removeItem(KEPT)
  // A page with a notice is the answer: it has what was typed, or it is kept.
  if (kept === null || kept.who !== who || document.querySelector('main .notice') !== null) return
  let filled = 0
  for (const [name, version, text] of kept.typed) {
    const cell = document.getElementsByName(name)[0]
    if (cell === undefined || versionOf(cell) !== version || cell.value === text) continue
    cell.value = text
    filled += 1
  }
  if (filled === 0) return
  isChanged = true
  const said = document.getElementById('pasted')
  said.textContent = said.dataset.back.replace('#', filled)
}
bringBack()


document.addEventListener('submit', ({ submitter }) => {
  isChanged = false
  if (who !== '' && submitter?.formAction?.includes('/corrections')) keepTyped()
})
window.addEventListener('beforeunload', (event) => { if (isChanged) event.preventDefault() })
`

export const PASTE_SCRIPT_PATH = `/assets/paste-${createHash('sha256').update(PASTE_SCRIPT).digest('hex').slice(0, 12)}.js`
