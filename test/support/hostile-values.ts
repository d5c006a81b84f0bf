/** Texts that a service may send where text is allowed, each chosen to break out of the place it is put in. */
export const HOSTILE_VALUES: readonly string[] = [
  ...new Set([
    ...controls(),
    ...unseen(),
    ...terminals(),
    ...formulas(),
    ...markup(),
    ...markdown(),
    ...paths(),
    ...names(),
    ...queries(),
    ...numbers(),
    ...twins(),
    ...blanks(),
    ...lengths(),
  ]),
];

/** Every C0 and C1 character and DEL, within a text. */
function controls(): string[] {
  const codes = [...Array.from({ length: 32 }, (_, code) => code), 0x7f];
  const c1 = Array.from({ length: 32 }, (_, at) => 0x80 + at);
  return [...codes, ...c1].map((code) => `c${code}${String.fromCharCode(code)}x`);
}

/** Bidi, zero-width and other format characters, separators, tags, noncharacters, private use. */
function unseen(): string[] {
  const codes = [
    0x00ad, 0x061c, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c,
    0x202d, 0x202e, 0x2060, 0x2061, 0x2064, 0x2066, 0x2067, 0x2068, 0x2069, 0x206a, 0x206f, 0xfeff, 0xfff9,
    0xfffa, 0xfffb, 0xfffe, 0xffff, 0xfdd0, 0xe000, 0xe0001, 0xe0041, 0xe007f, 0x10ffff,
  ];
  return codes.map((code) => `u${code.toString(16)}${String.fromCodePoint(code)}y`);
}

function terminals(): string[] {
  return [
    '\u001b[31mred\u001b[0m',
    '\u001b[2J\u001b[H',
    '\u001b]0;title\u0007',
    '\u001b]8;;http://evil.example\u0007link\u001b]8;;\u0007',
    '\u001b]52;c;ZXZpbA==\u0007',
    '\u001bP$q"p\u001b\\',
    '\u009b31mC1\u009b0m',
    '\u009d0;title\u009c',
    'safe\rEVIL',
    'abc\b\b\bxyz',
    'a\u202eexe.txt',
    '\u2066hidden\u2069',
    'line one\nSAFE TO CUT OVER',
    '\r\nremap: done\r\n',
    '\v\f',
  ];
}

function formulas(): string[] {
  return [
    '=1+1',
    '+1+1',
    '-1+1',
    '@SUM(A1:A9)',
    '=HYPERLINK("http://evil.example","x")',
    "=cmd|' /C calc'!A0",
    '\t=1+1',
    '\r=1+1',
    '\n=1+1',
    '"=1+1"',
    ';=1+1',
    ',=1+1',
    'a,b',
    'a;b',
    'a"b',
    '"',
    '""',
    "'",
    "''",
    'x\r\ny,z',
  ];
}

function markup(): string[] {
  return [
    '<script>alert(1)</script>',
    '</script>',
    '</style>',
    '</title>',
    '</textarea>',
    '</td></tr></table>',
    '<img src=x onerror=alert(1)>',
    '<svg/onload=alert(1)>',
    '"><b>bold</b>',
    "'><b>bold</b>",
    '<!--',
    '-->',
    '<![CDATA[',
    ']]>',
    '<?xml version="1.0"?>',
    '<!DOCTYPE x [<!ENTITY e "boom">]>',
    '&e;',
    '&lt;b&gt;',
    '&amp;#60;',
    '&#x3c;b&#x3e;',
    '&#0;',
    '&nosuch;',
    'javascript:alert(1)',
    'data:text/html,<b>x</b>',
    '<base href="http://evil.example">',
    '<meta http-equiv="refresh" content="0;url=http://evil.example">',
    '\u003c\u2028script>',
    '{{7*7}}',
    `$${'{7*7}'}`,
    '<%= 7*7 %>',
    '<failure message="x"/>',
    '</testcase></testsuite>',
  ];
}

function markdown(): string[] {
  return [
    '| a | b |',
    '\\| a',
    '[x](javascript:alert(1))',
    '![x](http://evil.example/x.png)',
    '[ref]: http://evil.example',
    'http://evil.example',
    'www.evil.example',
    'evil@example.com',
    '# heading',
    '- item',
    '1. item',
    '> quote',
    '***bold***',
    '__bold__',
    '~~gone~~',
    '`code`',
    '```',
    '~~~',
    '---',
    '    indented',
    '<details>',
    '</details>',
    '@someone',
    '#1',
    ':tada:',
    '$x^2$',
    '\\',
  ];
}

function paths(): string[] {
  return [
    '../../../../etc/passwd',
    '..\\..\\windows',
    '/etc/passwd',
    'C:\\Windows\\system32',
    'CON',
    'nul.txt',
    '.',
    '..',
    '~',
    '~root',
    'file:///etc/passwd',
    'a/b/c',
    '%2e%2e%2f',
    '%00',
    'x%0d%0aSet-Cookie: a=b',
    '?next=1&limit=2',
    '#fragment',
    '-rf',
    '--help',
    '--',
    '-',
    '*',
    '$(id)',
    '`id`',
    '; id',
    '| id',
    '&& id',
    '%PATH%',
    '$HOME',
    '%s%n%d',
    '\\u0000',
    '\\x1b[31m',
  ];
}

/** What JavaScript objects and JSON readers trip over. */
function names(): string[] {
  return [
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'valueOf',
    'hasOwnProperty',
    '__defineGetter__',
    'then',
    'length',
    'null',
    'undefined',
    'NaN',
    'true',
    'false',
    '[object Object]',
    '{"svc_id":1}',
    '["a"]',
    '{',
    '}',
    '"}',
    '","status":"matched',
    '\\"',
    '\\\\',
    'v4',
    'matched',
  ];
}

function queries(): string[] {
  return [
    "' OR 1=1 --",
    "'; DROP TABLE remap; --",
    '"; DROP TABLE remap; --',
    '/* x */',
    '%',
    '_',
    '?',
    ':id',
    '@id',
    '$1',
    "x'41'",
    'char(0)',
    "E'\\n'",
    '$$x$$',
  ];
}

/** Text that looks like a number must stay the text it is. */
function numbers(): string[] {
  return [
    '0',
    '1',
    '01',
    '001',
    '1.0',
    '1.',
    '.5',
    '1e3',
    '1E400',
    '-0',
    '-1',
    '+1',
    '0x10',
    '0b1',
    '1_000',
    '1,000',
    '9007199254740991',
    '9007199254740992',
    '9007199254740993',
    '9223372036854775807',
    '9223372036854775808',
    '18446744073709551616',
    '123456789012345678901234567890',
    '\uff11\uff12\uff13',
    '\u0661\u0662\u0663',
    'Infinity',
    '2023-01-01_2023-01-31',
  ];
}

/** Different texts that look alike, and text that takes other columns than it has characters. */
function twins(): string[] {
  return [
    'caf\u00e9',
    'cafe\u0301',
    '\u00c5',
    'A\u030a',
    '\u212b',
    '\u1100\u1161',
    '\uac00',
    '\ufb01',
    'fi',
    'stra\u00dfe',
    'strasse',
    'STRASSE',
    '\u0130',
    'i\u0307',
    '\u0131',
    '\u212a',
    'K',
    '\u03a9',
    '\u2126',
    '\u0430dmin',
    'admin',
    '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
    '\u{1f1e9}\u{1f1ea}',
    '\u5168\u89d2',
    '\u05e9\u05dc\u05d5\u05dd',
    '\u0645\u0631\u062d\u0628\u0627',
    `z${'\u0335\u0321\u0489'.repeat(30)}`,
  ];
}

function blanks(): string[] {
  return [
    ' ',
    '  ',
    ' a',
    'a ',
    'a',
    '\u00a0',
    '\u3000',
    '\u2003a',
    '\ta\t',
    'a\u0000',
    '\u0000',
    '\u0000a',
    '\n',
  ];
}

function lengths(): string[] {
  return [
    'L'.repeat(10_000),
    '\u{1f600}'.repeat(2_500),
    '\u0301'.repeat(5_000),
    '<'.repeat(10_000),
    '"'.repeat(10_000),
    `${'word '.repeat(2_000)}end`,
    '\u202e'.repeat(3_000),
  ];
}
