"""Abbreviations, and words that begin sentences, that the lists of the ``sentence-splitter`` package do not have."""

from __future__ import annotations

_RUSSIAN = (
    "им ул просп пл пос пер наб обл респ гр проф акад доц канд инж руб тыс млн млрд см ср напр исп англ фр нем ит лат "
    "греч яп кит ок род ум ред изд вып гл св кн т д г м р с о оз"
)
_HINDI = "ए बी सी डी एफ एच जे के एल एम एन ओ पी आर एस टी यू वी एक्स डॉ डा श्री श्रीमती सुश्री प्रो पं कु सु मि मो सं रु कं लि प्रा सौ कै"
_PAPERS = (
    "sec secs eq eqs vol vols ch Chs chap chaps App Appx Tab Tbl Thm Prop Lem Def Cor Ex Alg figs ref refs para paras "
    "par pars art arts cl cls sch reg regs subs subsec subpar subch Stat Rul ver Ed ep eps iss ser no nos nr pp p fl "
    "lines ll fn ff bk div pt pts rev ca v"
)

ALWAYS = {
    "ar": "أ.د ق.م",
    "bg": "г гр ул бул с проф д-р инж арх св вж т нар бл ап акад доц ген полк ж.к напр",
    "bn": "ড ডা ডাঃ মো মোঃ প্রফ",
    "de": "med phil rer nat jur theol oec habil Ing Dipl Dipl.-Ing Dr.-Ing Hr Hrn Fr Frl Bsp bspw vgl geb gest gegr "
    "inkl exkl insb hrsg Anm ehem urspr engl franz frz lat griech dt österr Mag Univ jew allg zit Str Tel rd",
    "el": "κ κα κκ δις δρ αρ σελ τηλ λεωφ οδ πρβλ δηλ αιμ",
    "en": "approx incl excl est viz resp dept univ assoc Pub Proc Natl Acad Sci Phys Lett Int Conf Symp Cong Sess "
    "subsp ssp var cv sp spp syn feat Mt Mts Ft Pt Mtn Pres Fr Br Bp Abp Cdr Cdre Cpt Sqn Sta Ste Esq Wm Geo Chas "
    "Thos Jas Cie pvt Pty ed eds trans Ave Hwy Rte Treas Supp Intl tel deg temp",
    "es": "Avda aprox núm",
    "et": "nt vt dr prof hr pr tn tlk",
    "fr": "Mme Mmes Mlle Mlles MM Me Mes Mgr Pr Ste Sts env chap éd éds boul réf ann vol coll trad",
    "hi": _HINDI,
    "hr": "dr prof mr sc sv tzv npr tj ul tel ing g gđa gđica",
    "hu": "dr id ifj özv prof kb pl ill ún",
    "hy": "թ ք պրոֆ դոկտ ակադ հմ դ դդ Յու Էդ ընկ փող քաղ",
    "id": "Dr Prof H Hj Ir Drs Jl Tn Ny Sdr hlm",
    "it": "dott prof avv ing sig on ca vol ecc geom rag arch",
    "mr": _HINDI,
    "ne": _HINDI,
    "pl": "ok st asp mł insp nadkom podkom kpt ppłk płk plut sierż gen inż mgr hab prof ul al pl im tzw tys mln mld "
    "zob",
    "pt": "Sr Sra Dr Dra tel av aprox Exmo Exma Prof Profa",
    "ru": _RUSSIAN,
    "sr": "dr prof mr sv tzv npr tj ul др проф мр св тзв нпр тј ул г гђа",
    "uk": "ім вул просп пл пров смт проф акад доц канд інж грн коп тис млн млрд див напр ісп англ фр нім лат грец яп "
    "бл нар пом ред вид вип гл св кн т д г м р с о оз обл гр ст рр тел буд кв",
    "vi": "TS ThS PGS GS Tp TP tr BS KS",
}
"""Language → abbreviations that a full stop belongs to, wherever they stand."""
NUMERIC = {
    "": "no nr pp p vol art fig tab cap cf",
    "de": "Abs Abb Art Bd Bde Kap Nr S Tab Aufl Ziff Anl Rn Rdnr Az Jg H Mt Joh Lk Mk Nrn",
    "en": _PAPERS,
    "es": "pág págs art arts cap tel vol núm",
    "fr": "art arts chap t p pp n no vol fig tél réf ch al",
    "it": "art artt att pag pagg n nn cap fig tab vol co lett",
    "pl": "art ust pkt nr str poz rozdz tab rys",
    "pt": "art arts n nº pág págs p tel cap inc",
    "ru": "стр рис табл п пп ст гл ч т тт разд",
    "uk": "стор рис мал табл п пп ст гл ч т розд",
}
"""Language, or "" for all → abbreviations that a full stop belongs to before a number."""
BEFORE_NAMES = (
    "Mr Mrs Ms Mx Dr Prof Rev Fr Gen Sen Rep Gov Capt Lt Col Sgt Maj Hon Messrs vs v cf cp e.g i.e viz esp incl Incl "
    "approx Approx Mme Mlle MM Mgr M Hr Hrn Sr Sra Srta Sres D Fig fig ft feat Feat No no z.B d.h bzw vgl p.ex p.ej "
    "np ej г-н г-жа т.е im ul им ул ім вул м"
)
"""Abbreviations that no sentence ends with, because a name or an example follows."""
ENDING = "etc usw ecc enz stb osv itd atd jne dll dsb dst т.д т.п т.ін"
"""Abbreviations that end a sentence before every capital."""
STARTERS = {
    "bg": "Той Тя То Те Това Тези Този Тази В Във На От За С Със По При След Преди Но И А Ако Когато",
    "cs": "On Ona Ono Oni To Ten Ta Tento Tato V Ve Na Po Pro Od Do Za Ale Když Pokud",
    "da": "Det Den De Han Hun Vi Der Dette I På Efter Ved Fra Men Og Når Hvis",
    "de": "Der Die Das Den Dem Des Ein Eine Einen Einem Er Sie Es Wir Ich Ihr Dies Diese Dieser Dieses Diesem Diesen "
    "In Im Am An Auf Aus Bei Beim Mit Nach Seit Von Vom Zu Zum Zur Für Durch Um Über Unter Vor Aber Und Oder Doch "
    "Dann Da Wenn Als Während Weil Nachdem Auch Nur Hier Dort So Sein Seine Ihre Man Wer Was Wie Wo Warum",
    "el": "Ο Η Το Οι Τα Τον Την Αυτό Αυτή Αυτός Στο Στη Στην Στον Με Από Για Σε Και Αλλά Όταν Αν",
    "en": "The This These That Those There It Its He She They We You His Her Their Our I A An In On At By For From "
    "With After Before During Since Until While When Where Why How What Who Which If As Although Though Because But "
    "And So Or However Then Thus Therefore Also Another Both Each Some Many Most Such Here Under Among Despite "
    "Between Not Nobody Everyone Nothing Once One To Is Are Was Were Did Does Do Has Have Had",
    "es": "El La Los Las Un Una Lo Él Ella Ellos Ellas Este Esta Esto Estos Estas Ese Esa Eso En De Del Al Con Por "
    "Para Desde Hasta Sin Sobre Tras Según Pero Y O Si Cuando Como Aunque Su Sus Se No Hay Es Son Fue También Además",
    "fi": "Hän He Se Ne Tämä Nämä Kun Jos Mutta Ja Myös",
    "fr": "Le La Les L' Un Une Des Du Il Elle Ils Elles On Nous Vous Je Ce Cet Cette Ces C' En Dans Sur Avec Pour Par "
    "Depuis Après Avant Sans Mais Et Ou Si Quand Comme Son Sa Ses Leur Leurs Au Aux À D' Cependant Ainsi Puis",
    "it": "Il Lo La I Gli Le Un Una Uno L' Egli Lui Lei Loro Questo Questa Questi Queste In Nel Nella Di Del Della "
    "Dal Con Per Su Sul Da Dopo Prima Ma E O Se Quando Come Si Non È Suo Sua Al Alla Anche",
    "nl": "De Het Een Hij Zij Ze Wij We Ik Dit Dat Deze Die In Op Van Met Voor Na Bij Door Om Aan Uit Maar En Of Als "
    "Toen Er Ook Zijn Haar Hun Niet",
    "no": "Det Den De Han Hun Vi Dette I På Etter Ved Fra Men Og Når Hvis",
    "pl": "On Ona Ono Oni To Ten Ta Te W We Na Po Z Ze Od Do Dla Przez Ale I A Gdy Jeśli Jego Jej Ich Nie Jest Był",
    "pt": "O A Os As Um Uma Ele Ela Eles Elas Este Esta Isto Esse Essa Isso Em No Na Nos Nas De Do Da Com Por Para "
    "Pelo Pela Desde Até Sem Sobre Após Mas E Ou Se Quando Como Seu Sua Ao À Não É Foi",
    "ro": "El Ea Ei Ele Acest Această În Din La Cu De Pe Pentru După Dar Și Dacă Când Un O Nu",
    "ru": "Он Она Оно Они Это Эта Этот Эти Тот Та Те Мы Вы Я В Во На По От До Из К С Со За При После Перед Для У О Об "
    "Но А И Если Когда Как Его Её Ее Их Не Все Всё Там Тут Здесь Затем Также Однако Так Кто Что Где Почему",
    "sv": "Det Den De Han Hon Vi Detta I På Efter Vid Från Men Och När Om",
    "uk": "Він Вона Воно Вони Це Цей Ця Ці Той Та Ті Ми Ви Я В У Во На По Від До З Із Зі За При Після Перед Для О Про "
    "Але А І Й Якщо Коли Як Його Її Їх Не Все Усе Там Тут Потім Також Проте Так Хто Що Де Чому Тому Тобто Йому Втім "
    "Адже Якби Отже",
}
"""Language → articles, pronouns, prepositions and the like: their capital shows that a sentence begins."""
