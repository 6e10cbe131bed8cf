-- 5,000 lines in many scripts, the same in every run: what tokenisers are
-- compared on. As a program it prints them.

local WORDS <const> = {
  {"the", "cat", "sat", "on", "a", "mat", "while", "it", "rained", "don't",
    "we'll", "I'm", "they've", "unbelievable", "re-entry", "O'Neil", "USA"},
  {"der", "Straße", "über", "Mädchen", "größer", "Äpfel", "fährt", "ß"},
  {"où", "l'été", "façade", "garçon", "naïve", "œuvre", "Noël", "d'accord"},
  {"mañana", "¿qué?", "¡hola!", "niño", "corazón", "pingüino"},
  {"İstanbul", "ışık", "çağrı", "gümüş", "öğretmen"},
  {"žluťoučký", "kůň", "příliš", "zażółć", "gęślą", "jaźń", "őrült"},
  {"Ελλάδα", "θάλασσα", "ήλιος", "ΟΔΥΣΣΕΥΣ", "λόγος"},
  {"Москва", "ёлка", "дождь", "ХЛЕБ", "підʼїзд", "ѝ"},
  {"שלום", "עולם", "שָׁלוֹם", "ירושלים"},
  {"مرحبا", "العالم", "كِتَابٌ", "مدرسة", "٣٤٥"},
  {"नमस्ते", "दुनिया", "क्षत्रिय", "हिन्दी", "१२३"},
  {"สวัสดี", "ภาษาไทย", "น้ำ"},
  {"你好", "世界", "學習", "龍", "𠀋"},
  {"こんにちは", "カタカナ", "東京", "ｶﾞ", "が"},
  {"안녕하세요", "한국어", "각"},
  {"Tiếng", "Việt", "được", "người"},
  {"გამარჯობა", "հայերեն", "ሰላም", "ᏣᎳᎩ"},
}

local ODD <const> = {
  "😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇫🇷🇩🇪", "e\u{301}", "a\u{308}\u{323}",
  "\u{200B}", "x\u{200D}y", "\u{FEFF}", "\u{AD}hyphen", "\t", "  ", "   ",
  "\u{A0}", "\u{3000}", "\u{2028}", "\u{85}", "\u{2009}", "\x01", "\x7F",
  "ﬁnal", "ﬃ", "①②", "½", "Ⅷ", "ℌ", "ＡＢＣ", "！？", "“quoted”", "‘so’",
  "—", "…", "«ça»", "$5.00", "€12,50", "100%", "3.14159", "1,234,567", "007",
  "x=y+1;", "foo_bar(baz[0])", "camelCaseWord", "http://a.b/c?d=e&f",
  "me@here.org", "#tag", "@you", "C++", "rock'n'roll", "'s", "n't", "\\n",
  "\u{2581}mark", "[MASK]", "<s>", "<0x41>", "\u{FFFD}", "\u{1F1E6}", "ʰʷ",
  "\u{E000}", "\u{10FFFD}", "Å", "Å", "ẞ", "ŉ", "ǰ", "ﬅ", "ﷺ", "㍿", "ﾊﾟ",
}

local MARKS <const> = {".", ",", "!", "?", ";", ":", "...", ")", "\"", "-"}

local function lines()
  local state = 20240229
  local function random(n) -- 1 .. n
    state = (state * 1103515245 + 12345) & 0x7FFFFFFF
    return (state >> 8) % n + 1
  end
  local list = {}
  for i = 1, 5000 do
    local parts = {}
    local first <const>, second <const> = random(#WORDS), random(#WORDS)
    for j = 1, random(9) + 1 do
      local words <const> = WORDS[random(4) == 1 and second or first]
      local word = random(7) == 1 and ODD[random(#ODD)] or
        words[random(#words)]
      if random(9) == 1 then word = tostring(random(100000)) end
      if random(11) == 1 then word = word:upper() end
      if random(13) == 1 then word = word .. word end
      local gap = j > 1 and random(12) > 1 and " " or ""
      if random(25) == 1 then gap = gap .. " " end
      parts[#parts + 1] = gap .. word
      if random(5) == 1 then parts[#parts + 1] = MARKS[random(#MARKS)] end
    end
    list[i] = table.concat(parts)
  end
  list[#list] = ""
  return list
end

if arg and arg[0] and arg[0]:find "lines%.lua$" then
  for _, line in ipairs(lines()) do print(line) end
end

return lines
